// Nets in training inside the kernel: weights, Adam's moments and derivatives live in its memory, packed.

import { weightCountOf } from "../../models/forecastnet/layers.ts";
import type { NetPlan } from "../../models/forecastnet/plan.ts";
import type { AdamOptions, Criterion, SessionTask, TrainingSession } from "../executor.ts";
import type { Heap } from "./heap.ts";
import type { Kernel } from "./kernel.ts";
import { packWeights, unpackWeights, weightedLayers } from "./packing.ts";
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
  readonly #matrices: readonly (readonly [start: number, end: number])[];

  constructor(plan: NetPlan, tasks: readonly SessionTask[], kernel: Kernel, heap: Heap) {
    this.#plan = plan;
    this.#kernel = kernel;
    this.#heap = heap;
    this.#training = new RowPass(plan, { criterion: "forced", gradient: true }, kernel, heap);
    this.#gradient = heap.reserve(this.#netBytes);
    this.#matrices = plan.cells
      .flatMap(weightedLayers)
      .map((layer) => [layer.weightsAt, layer.weightsAt + weightCountOf(layer)]);
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

  #update(net: TrainedNet, { learningRate, weightDecay }: AdamOptions): void {
    net.steps += 1;
    const firstFactor = 1 / (1 - BETA1 ** net.steps);
    const secondFactor = 1 / (1 - BETA2 ** net.steps);
    const update = (start: number, end: number, shrink: number): void => {
      const at = net.address + start * NUMBER;
      const moments = [at + this.#netBytes, at + 2 * this.#netBytes] as const;
      const gradient = this.#gradient + start * NUMBER;
      const count = end - start;
      this.#kernel.adam(at, gradient, ...moments, count, learningRate, shrink, firstFactor, secondFactor);
    };
    if (weightDecay === 0) {
      update(0, this.#plan.weightCount, 1);
      return;
    }
    let done = 0;
    for (const [start, end] of this.#matrices) {
      if (done < start) update(done, start, 1);
      update(start, end, 1 - learningRate * weightDecay);
      done = end;
    }
    update(done, this.#plan.weightCount, 1);
  }
}
