// Sample paths through the kernel: nets and noise stay in its memory, programs are written once per plan and number
// of paths, and one piece of scratch memory serves whichever program runs.

import type { NetPlan } from "../../models/forecastnet/plan.ts";
import type { PathNoise } from "../../models/forecastnet/sample-paths.ts";
import type { PathOutputs, SampleTask } from "../executor.ts";
import type { Heap } from "./heap.ts";
import type { Kernel } from "./kernel.ts";
import { type InstalledProgram, NUMBER } from "./program.ts";
import { Residents } from "./residents.ts";
import { type SampleProgram, writeSampleProgram } from "./sample-program.ts";

interface Ready {
  readonly program: SampleProgram;
  readonly installed: InstalledProgram;
  readonly address: number;
}

/** Programs hold scratch memory; a worker serves a handful of specs. */
const MAX_PROGRAMS = 8;

export class Sampler {
  readonly #kernel: Kernel;
  readonly #heap: Heap;
  readonly #residents: Residents;
  readonly #readyByPlan = new Map<NetPlan, Map<number, Ready>>();
  #readyCount = 0;
  /** Where weights lie on their way from the flat order into the kernel's. */
  #staging = 0;
  #stagingBytes = 0;

  constructor(kernel: Kernel, heap: Heap, budgetBytes: number) {
    this.#kernel = kernel;
    this.#heap = heap;
    this.#residents = new Residents(heap, budgetBytes);
  }

  get residentBytes(): number {
    return this.#residents.bytes;
  }

  sample({ net: { plan, weights }, window, noise }: SampleTask): PathOutputs {
    const paths = noise?.paths ?? 1;
    const ready = this.#ready(plan, paths);
    const { program, installed } = ready;
    const netAt = this.#residents.place(weights, plan, plan.weightCount, (to) =>
      this.#pack(weights, to, ready),
    );
    const noiseAt = noise === null ? 0 : this.#noise(noise, netAt);
    this.#heap.floats.set(window, installed.settle(program.window) / NUMBER);
    this.#kernel.run(installed.entry, netAt, 0, noiseAt, paths, 0);
    const count = plan.cells.length * plan.targets * paths;
    const read = (place: number): Float32Array => {
      const from = installed.settle(place) / NUMBER;
      return this.#heap.floats.slice(from, from + count);
    };
    return { mean: read(program.mean), deviation: noise === null ? null : read(program.deviation) };
  }

  #pack(weights: Float32Array, to: number, { program, installed }: Ready): void {
    const bytes = weights.byteLength;
    if (bytes > this.#stagingBytes) {
      if (this.#stagingBytes > 0) this.#heap.release(this.#staging);
      this.#staging = this.#heap.reserve(bytes);
      this.#stagingBytes = bytes;
    }
    this.#heap.floats.set(weights, this.#staging / NUMBER);
    const { at, count } = program.matrices;
    this.#kernel.pack(this.#staging, to, weights.length, installed.settle(at), count);
  }

  /** The noise with each row filled up to whole blocks of lanes. */
  #noise({ paths, values }: PathNoise, netAt: number): number {
    const lanes = Math.ceil(paths / 8) * 8;
    const rows = values.length / paths;
    const write = (address: number): void => {
      const to = new Float32Array(this.#heap.buffer, address, rows * lanes);
      to.fill(0);
      for (let row = 0; row < rows; row++) {
        to.set(values.subarray(row * paths, (row + 1) * paths), row * lanes);
      }
    };
    return this.#residents.place(values, paths, rows * lanes, write, netAt);
  }

  #ready(plan: NetPlan, paths: number): Ready {
    const known = this.#readyByPlan.get(plan)?.get(paths);
    if (known !== undefined) return known;
    if (this.#readyCount >= MAX_PROGRAMS) this.#forgetPrograms();
    const program = writeSampleProgram(plan, paths);
    const address = this.#heap.reserve(program.writer.size);
    const ready = { program, installed: program.writer.install(this.#heap.buffer, address), address };
    const byPaths = this.#readyByPlan.get(plan) ?? new Map<number, Ready>();
    this.#readyByPlan.set(plan, byPaths.set(paths, ready));
    this.#readyCount += 1;
    return ready;
  }

  #forgetPrograms(): void {
    for (const byPaths of this.#readyByPlan.values()) {
      for (const { address } of byPaths.values()) this.#heap.release(address);
    }
    this.#readyByPlan.clear();
    this.#readyCount = 0;
  }
}
