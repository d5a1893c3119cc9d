// The forecaster of series that have no model: seasonal-naive once two seasons are there, persistence
// before. It says so in every forecast.

import type { Forecast, Window } from "../domain.ts";
import type { BaselineForecast } from "../models/baseline.ts";
import { forecastCold } from "../models/cold.ts";

/** Turns windows into forecasts; a window nothing can be said about yields none. */
export interface Forecaster {
  forecast(windows: readonly Window[]): readonly Forecast[] | Promise<readonly Forecast[]>;
}

export function createColdForecaster(levels: readonly number[]): Forecaster {
  return {
    forecast: (windows) => {
      const forecasts: Forecast[] = [];
      for (const window of windows) {
        const distribution = forecastCold(window, levels);
        if (distribution === null) continue;
        forecasts.push(toForecast(window, distribution));
      }
      return forecasts;
    },
  };
}

/** Field by field, for speed: this runs for every forecast of a fleet, and spreading an object is slow. */
function toForecast(window: Window, distribution: BaselineForecast): Forecast {
  const { seriesId, originMs } = window;
  const { mean, standardDeviation, quantiles, method, modelVersion } = distribution;
  return {
    id: forecastId(seriesId, originMs, modelVersion),
    seriesId,
    originMs,
    interval: window.interval,
    horizon: window.settings.horizon,
    channels: window.channels,
    stepTimesMs: window.stepTimesMs,
    mean,
    standardDeviation,
    quantiles,
    tier: "cold",
    method,
    modelKey: seriesId,
    modelVersion,
    filledShare: window.filledShare,
    freshSteps: window.freshSteps,
    skippedOrigins: window.skippedOrigins,
  };
}

/** A function of series, origin and model version, so that a replay cannot invent a second one. */
function forecastId(seriesId: string, originMs: number, modelVersion: string): string {
  return `${seriesId}@${originMs}/${modelVersion}`;
}
