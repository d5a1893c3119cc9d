// The plainest forecast: the last value stays, as of a random walk. Its spread grows with √h from the size
// of the one-step changes seen so far; after few of them the band is as wide as so little knowledge deserves.

import type { Window } from "../domain.ts";
import { type Band, type BaselineForecast, bandFromFew, growthOf, spreadAround } from "./baseline.ts";

/** Needs a window of at least two steps. */
export function forecastPersistence(window: Window, levels: readonly number[]): BaselineForecast {
  const { values, channels, settings } = window;
  const { horizon } = settings;
  const last = values.length - channels;
  const mean = new Array<number>(channels * horizon);
  const bands = new Array<Band>(channels);
  for (let c = 0; c < channels; c++) {
    mean.fill(values[last + c], c * horizon, (c + 1) * horizon);
    bands[c] = bandFromFew(rmsOfChanges(values, channels, c), last / channels, levels);
  }
  const growth = growthOf(horizon, 1);
  const { standardDeviation, quantiles } = spreadAround(mean, bands, growth, levels);
  return { mean, standardDeviation, quantiles, method: "persistence", modelVersion: "persistence-1" };
}

function rmsOfChanges(values: Float64Array, channels: number, channel: number): number {
  let sum = 0;
  for (let i = channel + channels; i < values.length; i += channels) {
    const change = values[i] - values[i - channels];
    sum += change * change;
  }
  return Math.sqrt(sum / (values.length / channels - 1));
}
