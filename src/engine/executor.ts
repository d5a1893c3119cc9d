// The interface of an executor: the arithmetic of ForecastNet in the net's units, synchronous. There is one executor
// per way of computing. Framing, ensembles, mixtures and the training loop are the same for all and live outside; they
// check the sizes of all inputs, executors do not.
//
// Legend: T target channels, τ steps, P sample paths, B rows of a minibatch.

import type { Criterion } from "../models/forecastnet/engine.ts";
import type { TrainingSet } from "../models/forecastnet/framing.ts";
import type { NetPlan } from "../models/forecastnet/plan.ts";
import type { PathNoise } from "../models/forecastnet/sample-paths.ts";

export interface Net {
  readonly plan: NetPlan;
  readonly weights: Float32Array;
}

export interface SampleTask {
  readonly net: Net;
  /** The framed window, as the first cell sees it. */
  readonly window: Float32Array;
  /** Null for linear outputs, which have one path and feed back the output. */
  readonly noise: PathNoise | null;
}

/** Parameters of every path's distribution at every step, [step][target][path]. */
export interface PathOutputs {
  readonly mean: Float32Array;
  /** Null for linear outputs. */
  readonly deviation: Float32Array | null;
}

export interface AdamOptions {
  readonly learningRate: number;
  /** Decoupled: each step shrinks the weights (not the biases) by learningRate × weightDecay. */
  readonly weightDecay: number;
  /**
   * Factor on the learning rate for the weights of a linear shortcut (the mean layer's weights on the cell's input):
   * they start from a linear fit and need smaller steps. They do not decay.
   */
  readonly shortcutRate: number;
}

/** Nets of one plan in training, each with its own data, weights and Adam moments. */
export interface TrainingSession {
  /** One Adam step of each net on its rows; a net whose rows are null skips it. Returns each loss before the step. */
  step(rows: readonly (Int32Array | null)[], adam: readonly AdamOptions[]): Float64Array;
  /** Each net's loss over its whole validation set. */
  validate(criterion: Criterion): Float64Array;
  /** A copy of one net's weights. */
  weights(net: number): Float32Array;
  close(): void;
}

export interface SessionTask {
  readonly weights: Float32Array;
  readonly training: TrainingSet;
  readonly validation: TrainingSet;
}

export interface NetExecutor {
  sample(tasks: readonly SampleTask[]): readonly PathOutputs[];
  train(plan: NetPlan, tasks: readonly SessionTask[]): TrainingSession;
  /** Frees all resources. The executor cannot be used afterwards. */
  close(): void;
}
