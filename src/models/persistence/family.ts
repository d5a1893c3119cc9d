// Persistence: the last value stays, as for a random walk. The spread grows with √h from the size of the one-step changes so
// far. After few changes the band is wider, as their size is hardly known.
//
// It needs no training, and two steps of history. It is the cold tier of a series that has no two seasons yet.

import {
  type Band,
  type BaselineArrays,
  type BaselineForecast,
  bandFromFew,
  baselineArrays,
  growthOf,
  spreadAround,
} from "../baseline.ts";
import { createBaseline } from "../baseline-family.ts";
import type { ForecastInput } from "../family.ts";

/** Changes with the arithmetic. */
export const persistenceVersion = "persistence-1";

/** The input must have at least two steps. */
export function forecastPersistence(
  { values, channels, settings }: Omit<ForecastInput, "seasonalErrors">,
  levels: readonly number[],
  target: BaselineArrays = baselineArrays(channels * settings.horizon, levels.length),
): BaselineForecast {
  const { horizon } = settings;
  const last = values.length - channels;
  const { mean } = target;
  const bands = new Array<Band>(channels);
  for (let c = 0; c < channels; c++) {
    mean.fill(values[last + c], c * horizon, (c + 1) * horizon);
    bands[c] = bandFromFew(rmsOfChanges(values, channels, c), last / channels, levels);
  }
  spreadAround(target, bands, growthOf(horizon, 1));
  return target;
}

function rmsOfChanges(values: Float64Array, channels: number, channel: number): number {
  let sum = 0;
  for (let i = channel + channels; i < values.length; i += channels) {
    const change = values[i] - values[i - channels];
    sum += change * change;
  }
  return Math.sqrt(sum / (values.length / channels - 1));
}

export const persistence = createBaseline({
  name: "persistence",
  version: persistenceVersion,
  inputStepsOf: () => 2,
  forecast: (input, levels) => forecastPersistence(input, levels),
});
