// What runs the arithmetic of ForecastNet, in the net's own units and without waiting: one implementation per way
// of computing. Everything around it (framing, ensembles, mixtures, the training loop) is shared and written once.
//
// Legend: T target channels, τ steps, P sample paths, B rows of a minibatch.

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
  /** Null for linear outputs, which have one path and feed back the output itself. */
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
   * What the learning rate is multiplied with for the weights of a linear shortcut (those of a mean layer on the
   * cell's input): they start from a fit of their own and need less. They do not decay.
   */
  readonly shortcutRate: number;
}

/**
 * "forced" feeds the true targets to the next cell, as training does; "free" feeds back the net's own means.
 * Both give the mean over rows, steps and targets of the spec's loss, with z = (y − μ)/σ:
 *   likelihood  log σ + z²/2, the constant ½ log 2π left out
 *   crps        σ·(z·(2Φ(z) − 1) + 2φ(z) − 1/√π)
 *   squares     (y − μ)²
 */
export type Criterion = "forced" | "free";

/** Some nets of one plan in training, each with its own data, weights and Adam moments. */
export interface TrainingSession {
  /** One Adam step of each net on its own rows; a net whose rows are null rests. Returns each loss before the step. */
  step(rows: readonly (Int32Array | null)[], adam: readonly AdamOptions[]): Float64Array;
  /** Each net's loss over its whole validation set. */
  validate(criterion: Criterion): Float64Array;
  /** A copy of one net's weights. */
  weights(net: number): Float32Array;
  /** Puts weights in place and forgets the moments. */
  reset(net: number, weights: Float32Array): void;
  close(): void;
}

export interface SessionTask {
  readonly weights: Float32Array;
  readonly training: TrainingSet;
  readonly validation: TrainingSet;
}

/** What one teacher-forced pass over a set yields: for comparing engines, not for serving. */
export interface Derivatives {
  /** [step][target][row] */
  readonly mean: Float64Array;
  readonly deviation: Float64Array | null;
  readonly loss: number;
  /** Of the loss, by every weight, in the layout of the weights. */
  readonly gradient: Float64Array;
}

export interface NetExecutor {
  sample(tasks: readonly SampleTask[]): readonly PathOutputs[];
  train(plan: NetPlan, tasks: readonly SessionTask[]): TrainingSession;
  differentiate(net: Net, rows: TrainingSet): Derivatives;
  /** Gives back what it holds; the executor is not used again. */
  close(): void;
}
