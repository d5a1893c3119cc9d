// Sample paths through the kernel: nets and noise stay in its memory, programs are written once per plan and number
// of paths, and one piece of scratch memory serves whichever program runs.

import type { NetPlan } from "../../models/forecastnet/plan.ts";
import type { PathNoise } from "../../models/forecastnet/sample-paths.ts";
import type { PathOutputs, SampleTask } from "../executor.ts";
import type { Heap } from "./heap.ts";
import type { Kernel } from "./kernel.ts";
import { packWeights } from "./packing.ts";
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
    const blocks = Math.ceil(paths / 8);
    const { program, installed } = this.#ready(plan, blocks);
    const netAt = this.#residents.place(weights, plan, plan.weightCount, (to) =>
      packWeights(plan, weights, to),
    );
    const noiseAt = noise === null ? 0 : this.#noise(noise, blocks, netAt);
    this.#heap.floats.set(window, installed.settle(program.window) / NUMBER);
    this.#kernel.run(installed.entry, netAt, 0, noiseAt, paths, 0);
    const rows = plan.cells.length * plan.targets;
    const read = (place: number): Float32Array => {
      const from = installed.settle(place) / NUMBER;
      return this.#rows(from, program.laneBytes / NUMBER, rows, paths);
    };
    return { mean: read(program.mean), deviation: noise === null ? null : read(program.deviation) };
  }

  /** The noise with each row filled up to whole blocks of lanes. */
  #noise({ paths, values }: PathNoise, blocks: number, netAt: number): number {
    const rows = values.length / paths;
    const write = (to: Float32Array): void => {
      to.fill(0);
      for (let row = 0; row < rows; row++) {
        to.set(values.subarray(row * paths, (row + 1) * paths), row * blocks * 8);
      }
    };
    return this.#residents.place(values, paths, rows * blocks * 8, write, netAt);
  }

  #rows(from: number, stride: number, rows: number, paths: number): Float32Array {
    const { floats } = this.#heap;
    if (stride === paths) return floats.slice(from, from + rows * paths);
    const values = new Float32Array(rows * paths);
    for (let row = 0, at = from; row < rows; row++, at += stride) {
      values.set(floats.subarray(at, at + paths), row * paths);
    }
    return values;
  }

  #ready(plan: NetPlan, blocks: number): Ready {
    let byBlocks = this.#readyByPlan.get(plan);
    const known = byBlocks?.get(blocks);
    if (known !== undefined) return known;
    if (this.#readyCount >= MAX_PROGRAMS) this.#forgetPrograms();
    const program = writeSampleProgram(plan, blocks);
    const address = this.#heap.reserve(program.writer.size);
    const ready = { program, installed: program.writer.install(this.#heap.buffer, address), address };
    byBlocks = this.#readyByPlan.get(plan) ?? new Map<number, Ready>();
    byBlocks.set(blocks, ready);
    this.#readyByPlan.set(plan, byBlocks);
    this.#readyCount += 1;
    return ready;
  }

  #forgetPrograms(): void {
    for (const byBlocks of this.#readyByPlan.values()) {
      for (const { address } of byBlocks.values()) this.#heap.release(address);
    }
    this.#readyByPlan.clear();
    this.#readyCount = 0;
  }
}
