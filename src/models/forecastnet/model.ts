// A ForecastNet model: one net, or a few that are served as one mixture.

import type { Model, Scaler } from "../family.ts";
import type { ForecastNetSpec } from "./spec.ts";

/** One net of a model. */
export interface Member {
  readonly spec: ForecastNetSpec;
  /** In the layout of `plan.ts`. */
  readonly weights: Float32Array;
  /** Its part of the mixture; the shares of a model sum to 1. */
  readonly share: number;
  /**
   * Null unless the output is linear. Then the held-out errors in the net's units, [target][step][error], ascending
   * within a step: the distribution around the point forecast.
   */
  readonly residuals: Float32Array | null;
}

/** All members have the same horizon, channels and targets. */
export interface ForecastNetModel extends Model {
  readonly family: "forecastnet";
  readonly scaler: Scaler;
  readonly members: readonly Member[];
  /** Factor by which the mixture is widened around its mean, [target][step]; null for none. */
  readonly spread: Float32Array | null;
}

/** Steps that a window must have for the model. */
export function inputLengthOf(model: ForecastNetModel): number {
  return Math.max(...model.members.map(({ spec }) => spec.inputLength));
}
