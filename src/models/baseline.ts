// What the baselines share: the shape of their answer, and how wide a band is honest after few errors.
// Legend: τ steps ahead, h = 0 … τ−1 in code; arrays hold channel after channel, τ steps each.

import type { Forecast } from "../domain.ts";
import { studentQuantile } from "./normal.ts";

/** The model version of a baseline is its name and a number that grows when its arithmetic changes. */
export type BaselineForecast = Pick<
  Forecast,
  "mean" | "standardDeviation" | "quantiles" | "method" | "modelVersion"
>;

/** A centre and the standard deviation and error quantiles around it, for one channel and step at a time. */
export interface Band {
  readonly standardDeviation: number;
  /** At the levels asked for. */
  readonly quantiles: readonly number[];
}

/**
 * The band of an error with mean zero whose size is known only from `count` past errors: Student's t for
 * the quantiles, and a spread widened by the first order of t's variance (which is infinite up to two).
 */
export function bandFromFew(rms: number, count: number, levels: readonly number[]): Band {
  return {
    standardDeviation: rms * Math.sqrt(1 + 2 / count),
    quantiles: levels.map((level) => rms * studentQuantile(level, count)),
  };
}

const growthByShape = new Map<string, readonly number[]>();

/** By which factor a random walk from season to season has spread at each step: √k in the k-th season. */
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
 * Lays bands around the means: one band per channel, and per step one factor by which it has grown. The
 * arrays get their length at once and are filled by plain loops: this runs for every observation of a fleet.
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
  const quantiles = levels.map((level, l) => ({ level, values: quantileAround(mean, bands, growth, l) }));
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
