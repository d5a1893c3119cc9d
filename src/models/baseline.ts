// Shared by the baselines: the shape of their forecasts, and the width of a band that is known from few errors only.
// Legend: τ steps ahead, h = 0 … τ−1 in code; arrays hold channel after channel, τ steps each.

import { studentQuantile } from "./normal.ts";

/** A `Distribution` in plain arrays, as forecast messages have them. */
export interface BaselineForecast {
  readonly mean: readonly number[];
  readonly standardDeviation: readonly number[];
  readonly quantiles: readonly (readonly number[])[];
}

/** What a forecast is written to. A caller that passes each forecast on before the next one uses the same arrays again. */
export interface BaselineArrays {
  readonly mean: number[];
  readonly standardDeviation: number[];
  /** One per level. */
  readonly quantiles: readonly number[][];
}

/** `outputs`: channels × horizon. */
export function baselineArrays(outputs: number, levels: number): BaselineArrays {
  // Made of doubles, which an array of integers would have to be turned into.
  const numbers = () => Array.from({ length: outputs }, () => 0.5);
  const quantiles = Array.from({ length: levels }, numbers);
  return { mean: numbers(), standardDeviation: numbers(), quantiles };
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
 * Puts bands around the means. `growth` has one factor per step. Plain loops, for speed: this runs for every observation of a
 * fleet.
 */
export function spreadAround(
  { mean, standardDeviation, quantiles }: BaselineArrays,
  bands: readonly Band[],
  growth: readonly number[],
): void {
  for (let c = 0; c < bands.length; c++) {
    const band = bands[c];
    const first = c * growth.length;
    for (let h = 0; h < growth.length; h++) standardDeviation[first + h] = band.standardDeviation * growth[h];
    for (let l = 0; l < quantiles.length; l++)
      addError(quantiles[l], mean, { error: band.quantiles[l], first, growth });
  }
}

function addError(
  values: number[],
  mean: readonly number[],
  {
    error,
    first,
    growth,
  }: { readonly error: number; readonly first: number; readonly growth: readonly number[] },
): void {
  for (let h = 0; h < growth.length; h++) values[first + h] = mean[first + h] + error * growth[h];
}
