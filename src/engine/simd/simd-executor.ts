// The default executor: ForecastNet in one fused WebAssembly SIMD kernel. Samples paths: programs are written once per
// plan and number of paths; packed nets and noise stay in the kernel's memory while the budget lasts.

import type { NetPlan } from "../../models/forecastnet/plan.ts";
import type { PathNoise } from "../../models/forecastnet/sample-paths.ts";
import type { NetExecutor, PathOutputs, SampleTask } from "../executor.ts";
import { Heap, instantiateKernel, type Kernel } from "./kernel.ts";
import { type InstalledProgram, NUMBER } from "./program.ts";
import { type SampleProgram, writeSampleProgram } from "./sample-program.ts";
import { SimdSession } from "./session.ts";

interface SimdOptions {
  /** Memory for nets and noise that stay in the kernel between forecasts. */
  readonly residentBytes: number;
}

/** Enough for models that are requested again at once; no such budget holds a fleet of thousands. */
const defaults: SimdOptions = { residentBytes: 16 * 2 ** 20 };

export function createSimdExecutor(module: WebAssembly.Module, options: SimdOptions = defaults): NetExecutor {
  const kernel = instantiateKernel(module);
  const heap = new Heap(kernel.memory);
  const sampler = new Sampler(kernel, heap, options.residentBytes);
  return {
    sample: (tasks) => tasks.map((task) => sampler.sample(task)),
    train: (plan, tasks) => new SimdSession(plan, tasks, kernel, heap),
    close: () => {},
  };
}

interface ReadyProgram {
  readonly program: SampleProgram;
  readonly installed: InstalledProgram;
  readonly address: number;
}

/**
 * Programs hold scratch memory. A worker serves a handful of specs, each with a few numbers of paths, because members of models get whole
 * blocks of them.
 */
const MAX_PROGRAMS = 64;

class Sampler {
  readonly #kernel: Kernel;
  readonly #heap: Heap;
  readonly #residents: Residents;
  readonly #readyByPlan = new Map<NetPlan, Map<number, ReadyProgram>>();
  #readyCount = 0;
  /** A buffer in the kernel's memory for weights that are about to be packed. */
  #staging = 0;
  #stagingBytes = 0;

  constructor(kernel: Kernel, heap: Heap, budgetBytes: number) {
    this.#kernel = kernel;
    this.#heap = heap;
    this.#residents = new Residents(heap, budgetBytes);
  }

  sample({ net: { plan, weights }, window, noise }: SampleTask): PathOutputs {
    const paths = noise?.paths ?? 1;
    const ready = this.#ready(plan, paths);
    const { program, installed } = ready;
    const asNet = { form: plan, count: plan.weightCount };
    const netAt = this.#residents.place(weights, asNet, (to) => this.#pack(weights, to, ready));
    const noiseAt = noise === null ? 0 : this.#placeNoise(noise, netAt);
    this.#heap.floats.set(window, installed.resolve(program.window) / NUMBER);
    this.#kernel.run(installed.entry, netAt, 0, noiseAt, paths, 0);
    const count = plan.cells.length * plan.targets * paths;
    const read = (address: number): Float32Array => {
      const from = installed.resolve(address) / NUMBER;
      return this.#heap.floats.slice(from, from + count);
    };
    return { mean: read(program.mean), deviation: noise === null ? null : read(program.deviation) };
  }

  #pack(weights: Float32Array, to: number, { program, installed }: ReadyProgram): void {
    const bytes = weights.byteLength;
    if (bytes > this.#stagingBytes) {
      if (this.#stagingBytes > 0) this.#heap.release(this.#staging);
      this.#staging = this.#heap.reserve(bytes);
      this.#stagingBytes = bytes;
    }
    this.#heap.floats.set(weights, this.#staging / NUMBER);
    const { at, count } = program.matrices;
    this.#kernel.pack(this.#staging, to, weights.length, installed.resolve(at), count);
  }

  /** Pads each row of the noise to whole blocks of lanes. */
  #placeNoise({ paths, values }: PathNoise, netAt: number): number {
    const lanes = Math.ceil(paths / 8) * 8;
    const rows = values.length / paths;
    const asNoise = { form: paths, count: rows * lanes, keep: netAt };
    return this.#residents.place(values, asNoise, (address) => {
      const to = new Float32Array(this.#heap.buffer, address, rows * lanes);
      to.fill(0);
      for (let row = 0; row < rows; row++) {
        to.set(values.subarray(row * paths, (row + 1) * paths), row * lanes);
      }
    });
  }

  #ready(plan: NetPlan, paths: number): ReadyProgram {
    const known = this.#readyByPlan.get(plan)?.get(paths);
    if (known !== undefined) return known;
    if (this.#readyCount >= MAX_PROGRAMS) this.#dropPrograms();
    const program = writeSampleProgram(plan, paths);
    const address = this.#heap.reserve(program.writer.size);
    const ready = { program, installed: program.writer.install(this.#heap.buffer, address), address };
    const byPaths = this.#readyByPlan.get(plan) ?? new Map<number, ReadyProgram>();
    this.#readyByPlan.set(plan, byPaths.set(paths, ready));
    this.#readyCount += 1;
    return ready;
  }

  #dropPrograms(): void {
    for (const byPaths of this.#readyByPlan.values()) {
      for (const { address } of byPaths.values()) this.#heap.release(address);
    }
    this.#readyByPlan.clear();
    this.#readyCount = 0;
  }
}

interface Resident {
  readonly address: number;
  readonly bytes: number;
  readonly form: unknown;
}

/** Packed nets and noise in the kernel's memory, keyed by the array they were made from, least recently used first. */
class Residents {
  readonly #heap: Heap;
  readonly #budgetBytes: number;
  readonly #bySource = new Map<Float32Array, Resident>();
  #bytes = 0;

  constructor(heap: Heap, budgetBytes: number) {
    this.#heap = heap;
    this.#budgetBytes = budgetBytes;
  }

  /**
   * The address of `count` numbers made from `source`; `write` fills them unless they are resident in the same
   * `form` (the plan of a net, the paths of noise). The resident at the address `keep` is not evicted.
   */
  place(
    source: Float32Array,
    { form, count, keep = -1 }: { readonly form: unknown; readonly count: number; readonly keep?: number },
    write: (address: number) => void,
  ): number {
    const known = this.#bySource.get(source);
    if (known !== undefined) {
      this.#bySource.delete(source);
      if (known.form === form) {
        this.#bySource.set(source, known);
        return known.address;
      }
      this.#drop(known);
    }
    const bytes = count * NUMBER;
    this.#makeRoom(bytes, keep);
    const address = this.#heap.reserve(bytes);
    write(address);
    this.#bySource.set(source, { address, bytes, form });
    this.#bytes += bytes;
    return address;
  }

  #makeRoom(bytes: number, keep: number): void {
    for (const [source, resident] of this.#bySource) {
      if (this.#bytes + bytes <= this.#budgetBytes) return;
      if (resident.address === keep) continue;
      this.#bySource.delete(source);
      this.#drop(resident);
    }
  }

  #drop({ address, bytes }: Resident): void {
    this.#heap.release(address);
    this.#bytes -= bytes;
  }
}
