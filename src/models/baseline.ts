// Shared by the baselines: the shape of their forecasts, and the width of a band that is known from few errors only.
// Legend: τ steps ahead, h = 0 … τ−1 in code; arrays hold channel after channel, τ steps each.

import { studentQuantile } from "./normal.ts";

/** A `Distribution` in plain arrays, as forecast messages have them. */
export interface BaselineForecast {
  readonly mean: readonly number[];
  readonly standardDeviation: readonly number[];
  readonly quantiles: readonly (readonly number[])[];
}

/** Spread of the errors of one channel, one step ahead. */
export interface Band {
  readonly standardDeviation: number;
  /** One per level. */
  readonly quantiles: readonly number[];
}

/**
 * The band of an error with mean zero whose size is known from `count` past errors only. Quantiles are those of Student's
 * t. The standard deviation is widened to first order in 1/count: t's own variance is infinite up to two errors.
 */
export function bandFromFew(rms: number, count: number, levels: readonly number[]): Band {
  return {
    standardDeviation: rms * Math.sqrt(1 + 2 / count),
    quantiles: levels.map((level) => rms * studentQuantile(level, count)),
  };
}

const growthByShape = new Map<string, readonly number[]>();

/** Spread of a random walk from season to season, at each step: √k in the k-th season. */
export function growthOf(horizon: number, season: number): readonly number[] {
  const shape = `${horizon}/${season}`;
  let growth = growthByShape.get(shape);
  if (growth === undefined) {
    growth = Array.from({ length: horizon }, (_, h) => Math.sqrt(Math.floor(h / season) + 1));
    growthByShape.set(shape, growth);
  }
  return growth;
}

/**
 * Puts bands around the means. `growth` has one factor per step. Plain loops fill arrays of fixed length, for speed: this
 * runs for every observation of a fleet.
 */
export function spreadAround(
  mean: readonly number[],
  bands: readonly Band[],
  growth: readonly number[],
  levels: readonly number[],
): Pick<BaselineForecast, "standardDeviation" | "quantiles"> {
  const standardDeviation = new Array<number>(mean.length);
  bands.forEach((band, c) => {
    const first = c * growth.length;
    for (let h = 0; h < growth.length; h++) standardDeviation[first + h] = band.standardDeviation * growth[h];
  });
  const quantiles = levels.map((_, l) => quantileAround(mean, bands, growth, l));
  return { standardDeviation, quantiles };
}

function quantileAround(
  mean: readonly number[],
  bands: readonly Band[],
  growth: readonly number[],
  l: number,
): readonly number[] {
  const values = new Array<number>(mean.length);
  for (let c = 0; c < bands.length; c++) {
    const error = bands[c].quantiles[l];
    const first = c * growth.length;
    for (let h = 0; h < growth.length; h++) values[first + h] = mean[first + h] + error * growth[h];
  }
  return values;
}
