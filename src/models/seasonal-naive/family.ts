// Seasonal naive: every step repeats the value one season before it; beyond one season the last season repeats. The band is
// that of the rule's recent errors, widened by √k for the k-th season ahead, as for a random walk from season to season.
//
// It needs no training. It is the cold tier of a series with two seasons of history, and the baseline of the gate.

import type { ErrorSummary } from "../../domain.ts";
import {
  type Band,
  type BaselineArrays,
  type BaselineForecast,
  bandFromFew,
  baselineArrays,
  growthOf,
  spreadAround,
} from "../baseline.ts";
import { type BaselineModel, createBaseline } from "../baseline-family.ts";
import type { ForecastInput } from "../family.ts";
import { naiveSeasonOf } from "../season.ts";

/** Changes with the arithmetic. */
export const seasonalNaiveVersion = "seasonal-naive-2";

/** With fewer errors, their quantiles are too narrow at the ends and too rough between. */
const ENOUGH_ERRORS = 30;

/** The input must have at least one season. */
export function forecastSeasonalNaive(
  { values, channels, settings }: Omit<ForecastInput, "seasonalErrors">,
  errors: readonly ErrorSummary[],
  levels: readonly number[],
  target: BaselineArrays = baselineArrays(channels * settings.horizon, levels.length),
): BaselineForecast {
  const { horizon } = settings;
  const season = naiveSeasonOf(settings);
  const seasonStart = values.length - season * channels;
  const { mean } = target;
  for (let c = 0; c < channels; c++) {
    for (let h = 0; h < horizon; h++)
      mean[c * horizon + h] = values[seasonStart + (h % season) * channels + c];
  }
  const growth = growthOf(horizon, season);
  const bands = errors.map((summary) => bandOf(summary, levels));
  spreadAround(target, bands, growth);
  return target;
}

function bandOf({ quantiles, rms, count }: ErrorSummary, levels: readonly number[]): Band {
  return count < ENOUGH_ERRORS ? bandFromFew(rms, count, levels) : { quantiles, standardDeviation: rms };
}

export const seasonalNaive = createBaseline({
  name: "seasonal-naive",
  version: seasonalNaiveVersion,
  // One season to repeat, and one before it to know the errors.
  inputStepsOf: ({ season }: BaselineModel) => 2 * season,
  forecast: (input, levels) =>
    input.seasonalErrors === null ? null : forecastSeasonalNaive(input, input.seasonalErrors, levels),
});
