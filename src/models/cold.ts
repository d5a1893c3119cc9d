// The forecast of a series that has no model yet: seasonal naive from two seasons on, persistence before.

import type { Window } from "../domain.ts";
import type { BaselineForecast } from "./baseline.ts";
import { forecastPersistence } from "./persistence.ts";
import { forecastSeasonalNaive } from "./seasonal-naive.ts";

/** Null when the window holds a single step: nothing is known yet of how the series moves. */
export function forecastCold(window: Window, levels: readonly number[]): BaselineForecast | null {
  if (window.seasonalErrors !== null) return forecastSeasonalNaive(window, window.seasonalErrors, levels);
  if (window.values.length < 2 * window.channels) return null;
  return forecastPersistence(window, levels);
}
