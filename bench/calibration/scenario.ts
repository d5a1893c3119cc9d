// What is replayed: a sample series whose last fifth is judged, with or without a level shift half way through it.
//
// Legend: N points; the judged part begins at ⌊0.8 N⌋, the shift in its middle; an origin o knows the values before o.

import { naiveErrorOf } from "../../src/models/scores.ts";
import type { SampleSeries } from "../accuracy/sample-series.ts";

export interface Scenario {
  readonly name: string;
  /** In standard deviations of what lies before the judged part; 0 leaves the series as it is. */
  readonly shift: number;
  readonly values: Float64Array;
  readonly season: number;
  /** The first point of the judged part. */
  readonly from: number;
  /** The first point that is shifted, or would be. */
  readonly shiftAt: number;
  /** The one-step naive error before the judged part. */
  readonly scale: number;
}

export const shortestSeries = 2_000;

export function scenarioOf({ name, values, season }: SampleSeries, shift: number): Scenario {
  const from = Math.floor(0.8 * values.length);
  const shiftAt = from + Math.floor((values.length - from) / 2);
  const past = values.subarray(0, from);
  const scale = naiveErrorOf(past, 0, past.length);
  if (scale === null)
    throw new Error(`${name}: it does not move before its last fifth; nothing can be judged`);
  const step = shift * deviationOf(past);
  const shifted = values.map((value, t) => (t < shiftAt ? value : value + step));
  return { name, shift, values: shifted, season, from, shiftAt, scale };
}

function deviationOf(values: Float64Array): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
}
