// Nets in training inside the kernel: weights, Adam's moments and derivatives live in its memory, packed.

import type { NetPlan } from "../../models/forecastnet/plan.ts";
import type { AdamOptions, Criterion, SessionTask, TrainingSession } from "../executor.ts";
import type { Heap } from "./heap.ts";
import type { Kernel } from "./kernel.ts";
import { type Part, packWeights, partsOf, unpackWeights } from "./packing.ts";
import { NUMBER } from "./program.ts";
import { RowPass } from "./row-pass.ts";

const BETA1 = 0.9;
const BETA2 = 0.999;

interface TrainedNet {
  readonly task: SessionTask;
  /** Weights, then first and second moments, one after the other. */
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
  readonly #validationBy = new Map<Criterion, RowPass>();
  readonly #parts: readonly Part[];

  constructor(plan: NetPlan, tasks: readonly SessionTask[], kernel: Kernel, heap: Heap) {
    this.#plan = plan;
    this.#kernel = kernel;
    this.#heap = heap;
    this.#training = new RowPass(plan, { criterion: "forced", gradient: true }, kernel, heap);
    this.#gradient = heap.reserve(this.#netBytes);
    this.#parts = partsOf(plan);
    this.#nets = tasks.map((task) => ({ task, address: heap.reserve(3 * this.#netBytes), steps: 0 }));
    for (const [net, { weights }] of tasks.entries()) this.reset(net, weights);
  }

  get #netBytes(): number {
    return this.#plan.weightCount * NUMBER;
  }

  step(rows: readonly (Int32Array | null)[], adam: readonly AdamOptions[]): Float64Array {
    return Float64Array.from(this.#nets, (net, i) => {
      const picked = rows[i];
      // A net that rests has no loss to tell.
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

  reset(net: number, weights: Float32Array): void {
    const trained = this.#nets[net];
    packWeights(this.#plan, weights, this.#numbersAt(trained.address));
    this.#numbersAt(trained.address + this.#netBytes).fill(0);
    this.#numbersAt(trained.address + 2 * this.#netBytes).fill(0);
    trained.steps = 0;
  }

  close(): void {
    this.#training.close();
    for (const pass of this.#validationBy.values()) pass.close();
    for (const { address } of this.#nets) this.#heap.release(address);
    this.#heap.release(this.#gradient);
  }

  #validation(criterion: Criterion): RowPass {
    let pass = this.#validationBy.get(criterion);
    if (pass === undefined) {
      pass = new RowPass(this.#plan, { criterion, gradient: false }, this.#kernel, this.#heap);
      this.#validationBy.set(criterion, pass);
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
