// Seasonal naive: every step repeats the value one season before it; beyond a season the last one goes on
// repeating. The band is that of the errors this rule made lately, widened by √k for the k-th season ahead,
// as of a random walk from season to season.

import type { ErrorSummary, SeriesSettings, Window } from "../domain.ts";
import { type Band, type BaselineForecast, bandFromFew, growthOf, spreadAround } from "./baseline.ts";

/** Below this many errors their own quantiles are too narrow at the ends, and too ragged between. */
const ENOUGH_ERRORS = 30;

/** What is read of a window. */
export interface SeasonalWindow extends Pick<Window, "values" | "channels"> {
  readonly settings: Pick<SeriesSettings, "horizon" | "season">;
}

/** Needs a window with seasonal errors, hence of at least one season. */
export function forecastSeasonalNaive(
  window: SeasonalWindow,
  errors: readonly ErrorSummary[],
  levels: readonly number[],
): BaselineForecast {
  const { values, channels, settings } = window;
  const { horizon, season } = settings;
  const seasonStart = values.length - season * channels;
  const mean = new Array<number>(channels * horizon);
  for (let c = 0; c < channels; c++) {
    for (let h = 0; h < horizon; h++)
      mean[c * horizon + h] = values[seasonStart + (h % season) * channels + c];
  }
  const growth = growthOf(horizon, season);
  const bands = errors.map((summary) => bandOf(summary, levels));
  const { standardDeviation, quantiles } = spreadAround(mean, bands, growth, levels);
  return { mean, standardDeviation, quantiles, method: "seasonal-naive", modelVersion: "seasonal-naive-1" };
}

function bandOf({ quantiles, rms, count }: ErrorSummary, levels: readonly number[]): Band {
  return count < ENOUGH_ERRORS ? bandFromFew(rms, count, levels) : { quantiles, standardDeviation: rms };
}
