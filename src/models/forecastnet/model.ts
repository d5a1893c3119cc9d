// A trained forecaster of one series or cohort: one net, or a few served together as one mixture.

import type { ForecastNetSpec } from "./spec.ts";

/** Brings raw values into [0, 1]: (value − offset) / scale, per channel. Fitted on the training part only. */
export interface Scaler {
  readonly offset: readonly number[];
  /** Never zero. */
  readonly scale: readonly number[];
}

/** One net of a model. */
export interface Member {
  readonly spec: ForecastNetSpec;
  /** In the layout of `plan.ts`. */
  readonly weights: Float32Array;
  /** Its part of the mixture; the shares of a model sum to 1. */
  readonly share: number;
  /**
   * Linear outputs only, null otherwise: held-out errors in the net's units, [target][step][error], ascending
   * within a step. They are the distribution around the point forecast.
   */
  readonly residuals: Float32Array | null;
}

/** Immutable: a retrained model is another object with another version. All members agree on τ, channels, targets. */
export interface ForecastNetModel {
  readonly key: string;
  readonly version: string;
  readonly scaler: Scaler;
  readonly members: readonly Member[];
  /** By which factor the mixture is widened around its mean, [target][step]; null leaves it as it is. */
  readonly spread: Float32Array | null;
}

/** Steps of raw history that the model needs at an origin. */
export function inputLengthOf(model: ForecastNetModel): number {
  return Math.max(...model.members.map(({ spec }) => spec.inputLength));
}
