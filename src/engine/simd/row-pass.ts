// Passes of rows through a training program: rows are gathered into lanes, as many runs as needed follow, losses and
// derivatives add up.

import type { TrainingSet } from "../../models/forecastnet/framing.ts";
import type { NetPlan } from "../../models/forecastnet/plan.ts";
import type { Pass } from "./forward-program.ts";
import type { Heap } from "./heap.ts";
import type { Kernel } from "./kernel.ts";
import { type InstalledProgram, NUMBER } from "./program.ts";
import { type TrainingProgram, writeTrainingProgram } from "./training-program.ts";

export interface Addresses {
  readonly weights: number;
  /** Where derivatives are added; 0 when none are wanted. */
  readonly gradient: number;
}

/** One run's outputs, [step][target][lane]: rows `first` … `first + lanes − 1` of the pass. */
export interface RunOutputs {
  readonly first: number;
  readonly lanes: number;
  readonly mean: Float32Array;
  readonly sums: Float32Array;
  /** Numbers from one row of lanes to the next. */
  readonly stride: number;
}

export class RowPass {
  readonly #plan: NetPlan;
  readonly #kernel: Kernel;
  readonly #heap: Heap;
  readonly #program: TrainingProgram;
  readonly #installed: InstalledProgram;
  readonly #address: number;

  constructor(plan: NetPlan, pass: Pass, kernel: Kernel, heap: Heap) {
    this.#plan = plan;
    this.#kernel = kernel;
    this.#heap = heap;
    this.#program = writeTrainingProgram(plan, pass);
    this.#address = heap.reserve(this.#program.writer.size);
    this.#installed = this.#program.writer.install(heap.buffer, this.#address);
  }

  /** The mean loss over the rows named, or over all of the set. */
  run(
    set: TrainingSet,
    rows: Int32Array | null,
    { weights, gradient }: Addresses,
    onRun?: (outputs: RunOutputs) => void,
  ): number {
    const count = rows?.length ?? set.count;
    const scale = 1 / (count * this.#plan.cells.length * this.#plan.targets);
    const { maxLanes } = this.#program;
    let loss = 0;
    for (let first = 0; first < count; first += maxLanes) {
      const lanes = Math.min(maxLanes, count - first);
      this.#gather(set, rows, first, lanes);
      loss += this.#kernel.run(this.#installed.entry, weights, gradient, 0, lanes, scale);
      onRun?.(this.#outputs(first, lanes));
    }
    return loss * scale;
  }

  close(): void {
    this.#heap.release(this.#address);
  }

  #outputs(first: number, lanes: number): RunOutputs {
    const stride = this.#program.laneBytes / NUMBER;
    const count = this.#plan.cells.length * this.#plan.targets * stride;
    const view = (place: number): Float32Array => {
      const from = this.#installed.settle(place) / NUMBER;
      return this.#heap.floats.subarray(from, from + count);
    };
    return { first, lanes, mean: view(this.#program.mean), sums: view(this.#program.sums), stride };
  }

  /** Lanes beyond the rows repeat the last row: the kernel ignores their loss, but they must be numbers. */
  #gather(set: TrainingSet, rows: Int32Array | null, first: number, lanes: number): void {
    const { windowSize, cells, targets } = this.#plan;
    const { floats } = this.#heap;
    const windowAt = this.#installed.settle(this.#program.window) / NUMBER;
    const targetsAt = this.#installed.settle(this.#program.targets) / NUMBER;
    const windowBlock = this.#program.windowBlock / NUMBER;
    const stride = this.#program.laneBytes / NUMBER;
    const targetCount = cells.length * targets;
    for (let lane = 0; lane < Math.ceil(lanes / 8) * 8; lane++) {
      const index = first + Math.min(lane, lanes - 1);
      const row = rows === null ? index : rows[index];
      let from = row * windowSize;
      let to = windowAt + (lane >> 3) * windowBlock + (lane & 7);
      for (let i = 0; i < windowSize; i++, from++, to += 8) floats[to] = set.windows[from];
      from = row * targetCount;
      to = targetsAt + lane;
      for (let i = 0; i < targetCount; i++, from++, to += stride) floats[to] = set.targets[from];
    }
  }
}
