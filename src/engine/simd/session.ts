// Training in the kernel. A session keeps packed weights, Adam's moments and derivatives in the kernel's memory. A row
// pass runs rows of a training set through a program, forward and, for derivatives, backward: it copies rows into
// lanes, repeats the run until all rows are through, and adds up losses and derivatives.

import type { Criterion } from "../../models/forecastnet/engine.ts";
import type { TrainingSet } from "../../models/forecastnet/framing.ts";
import type { NetPlan } from "../../models/forecastnet/plan.ts";
import type { AdamOptions, SessionTask, TrainingSession } from "../executor.ts";
import { writeBackward } from "./backward-program.ts";
import { ForwardCompiler, type Pass, type Places } from "./forward-program.ts";
import type { Heap, Kernel } from "./kernel.ts";
import { type Part, packWeights, partsOf, unpackWeights } from "./packing.ts";
import { type InstalledProgram, NUMBER, type ProgramWriter } from "./program.ts";

const BETA1 = 0.9;
const BETA2 = 0.999;

interface TrainedNet {
  readonly task: SessionTask;
  /** Of the weights; first and second moments follow them. */
  readonly address: number;
  steps: number;
}

export class SimdSession implements TrainingSession {
  readonly #plan: NetPlan;
  readonly #kernel: Kernel;
  readonly #heap: Heap;
  readonly #nets: readonly TrainedNet[];
  readonly #gradient: number;
  readonly #training: RowPass;
  readonly #validationByCriterion = new Map<Criterion, RowPass>();
  readonly #parts: readonly Part[];

  constructor(plan: NetPlan, tasks: readonly SessionTask[], kernel: Kernel, heap: Heap) {
    this.#plan = plan;
    this.#kernel = kernel;
    this.#heap = heap;
    this.#training = new RowPass(plan, { criterion: "forced", gradient: true }, kernel, heap);
    this.#gradient = heap.reserve(this.#netBytes);
    this.#parts = partsOf(plan);
    this.#nets = tasks.map((task) => this.#place(task));
  }

  get #netBytes(): number {
    return this.#plan.weightCount * NUMBER;
  }

  #place(task: SessionTask): TrainedNet {
    const address = this.#heap.reserve(3 * this.#netBytes);
    packWeights(this.#plan, task.weights, this.#numbersAt(address));
    this.#numbersAt(address + this.#netBytes).fill(0);
    this.#numbersAt(address + 2 * this.#netBytes).fill(0);
    return { task, address, steps: 0 };
  }

  step(rows: readonly (Int32Array | null)[], adam: readonly AdamOptions[]): Float64Array {
    return Float64Array.from(this.#nets, (net, i) => {
      const picked = rows[i];
      // A net that skips the step has no loss.
      if (picked === null) return Number.NaN;
      this.#numbersAt(this.#gradient).fill(0);
      const at = { weights: net.address, gradient: this.#gradient };
      const loss = this.#training.run(net.task.training, picked, at);
      this.#update(net, adam[i]);
      return loss;
    });
  }

  validate(criterion: Criterion): Float64Array {
    const pass = this.#validation(criterion);
    return Float64Array.from(this.#nets, ({ task, address }) =>
      pass.run(task.validation, null, { weights: address, gradient: 0 }),
    );
  }

  weights(net: number): Float32Array {
    const weights = new Float32Array(this.#plan.weightCount);
    unpackWeights(this.#plan, this.#numbersAt(this.#nets[net].address), weights);
    return weights;
  }

  close(): void {
    this.#training.close();
    for (const pass of this.#validationByCriterion.values()) pass.close();
    for (const { address } of this.#nets) this.#heap.release(address);
    this.#heap.release(this.#gradient);
  }

  #validation(criterion: Criterion): RowPass {
    let pass = this.#validationByCriterion.get(criterion);
    if (pass === undefined) {
      pass = new RowPass(this.#plan, { criterion, gradient: false }, this.#kernel, this.#heap);
      this.#validationByCriterion.set(criterion, pass);
    }
    return pass;
  }

  #numbersAt(address: number): Float32Array {
    return new Float32Array(this.#heap.buffer, address, this.#plan.weightCount);
  }

  #update(net: TrainedNet, { learningRate, weightDecay, shortcutRate }: AdamOptions): void {
    net.steps += 1;
    if (weightDecay === 0 && shortcutRate === 1) {
      this.#updatePart(net, { start: 0, end: this.#plan.weightCount }, learningRate, 1);
      return;
    }
    const shrink = 1 - learningRate * weightDecay;
    for (const part of this.#parts) {
      const rate = part.kind === "shortcut" ? learningRate * shortcutRate : learningRate;
      this.#updatePart(net, part, rate, part.kind === "weights" ? shrink : 1);
    }
  }

  #updatePart(
    net: TrainedNet,
    { start, end }: Pick<Part, "start" | "end">,
    rate: number,
    shrink: number,
  ): void {
    const at = net.address + start * NUMBER;
    this.#kernel.adam(
      at,
      this.#gradient + start * NUMBER,
      at + this.#netBytes,
      at + 2 * this.#netBytes,
      end - start,
      rate,
      shrink,
      1 / (1 - BETA1 ** net.steps),
      1 / (1 - BETA2 ** net.steps),
    );
  }
}

interface Addresses {
  readonly weights: number;
  /** The pass adds derivatives here; 0 for a pass without them. */
  readonly gradient: number;
}

export class RowPass {
  readonly #plan: NetPlan;
  readonly #kernel: Kernel;
  readonly #heap: Heap;
  readonly program: TrainingProgram;
  readonly installed: InstalledProgram;
  readonly #address: number;

  constructor(plan: NetPlan, pass: Pass, kernel: Kernel, heap: Heap) {
    this.#plan = plan;
    this.#kernel = kernel;
    this.#heap = heap;
    this.program = writeTrainingProgram(plan, pass);
    this.#address = heap.reserve(this.program.writer.size);
    this.installed = this.program.writer.install(heap.buffer, this.#address);
  }

  /** The mean loss over the given rows, or over the whole set. */
  run(set: TrainingSet, rows: Int32Array | null, { weights, gradient }: Addresses): number {
    const count = rows?.length ?? set.count;
    const scale = 1 / (count * this.#plan.cells.length * this.#plan.targets);
    const { maxLanes } = this.program;
    let loss = 0;
    for (let first = 0; first < count; first += maxLanes) {
      const lanes = Math.min(maxLanes, count - first);
      this.#gather(set, rows, first, lanes);
      loss += this.#kernel.run(this.installed.entry, weights, gradient, 0, lanes, scale);
    }
    return loss * scale;
  }

  close(): void {
    this.#heap.release(this.#address);
  }

  /** Copies rows into lanes. Lanes past the last row repeat it: the kernel ignores their loss, but needs numbers. */
  #gather(set: TrainingSet, rows: Int32Array | null, first: number, lanes: number): void {
    const { windowSize, cells, targets } = this.#plan;
    const { floats } = this.#heap;
    const windowAt = this.installed.resolve(this.program.window) / NUMBER;
    const targetsAt = this.installed.resolve(this.program.targets) / NUMBER;
    const windowBlock = this.program.windowBlock / NUMBER;
    const stride = this.program.laneBytes / NUMBER;
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

interface TrainingProgram extends Places {
  readonly writer: ProgramWriter;
  readonly maxLanes: number;
}

/** More rows than this take several runs: larger runs gain nothing and overflow the caches. */
const MAX_BLOCKS = 8;
const MAX_TRACE_BYTES = 12 * 2 ** 20;

function writeTrainingProgram(plan: NetPlan, pass: Pass): TrainingProgram {
  const one = compile(plan, pass, 1);
  const fitting = Math.floor(MAX_TRACE_BYTES / one.writer.size);
  const blocks = Math.min(MAX_BLOCKS, Math.max(1, fitting));
  return blocks === 1 ? one : compile(plan, pass, blocks);
}

function compile(plan: NetPlan, pass: Pass, maxBlocks: number): TrainingProgram {
  const forward = new ForwardCompiler(plan, pass, maxBlocks);
  const traces = forward.compile();
  if (pass.gradient) writeBackward(forward, traces);
  return { ...forward.places, writer: forward.writer, maxLanes: maxBlocks * 8 };
}
