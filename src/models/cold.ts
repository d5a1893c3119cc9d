// The cold tier: forecasts for series that have no model yet, within the bounds of their series. Seasonal naive from two
// seasons on, persistence before.

import type { BaselineForecast } from "./baseline.ts";
import { boundDistribution } from "./bounds.ts";
import type { ForecastInput } from "./family.ts";
import { forecastPersistence, persistenceVersion } from "./persistence/family.ts";
import { forecastSeasonalNaive, seasonalNaiveVersion } from "./seasonal-naive/family.ts";

export interface ColdForecast {
  readonly distribution: BaselineForecast;
  readonly method: "seasonal-naive" | "persistence";
  readonly modelVersion: string;
}

/** Null when the input has a single step: how the series moves is not known yet. */
export function forecastCold(input: ForecastInput, levels: readonly number[]): ColdForecast | null {
  const { bounds } = input.settings;
  if (input.seasonalErrors !== null) {
    const distribution = boundDistribution(
      forecastSeasonalNaive(input, input.seasonalErrors, levels),
      bounds,
    );
    return { distribution, method: "seasonal-naive", modelVersion: seasonalNaiveVersion };
  }
  if (input.values.length < 2 * input.channels) return null;
  const distribution = boundDistribution(forecastPersistence(input, levels), bounds);
  return { distribution, method: "persistence", modelVersion: persistenceVersion };
}
