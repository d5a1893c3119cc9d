// The forecaster of series that have no model: seasonal-naive once two seasons are there, persistence
// before. It says so in every forecast.

import type { Forecast, Window } from "../domain.ts";
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
        forecasts.push({
          ...distribution,
          id: forecastId(window.seriesId, window.originMs, distribution.modelVersion),
          seriesId: window.seriesId,
          originMs: window.originMs,
          interval: window.interval,
          horizon: window.settings.horizon,
          channels: window.channels,
          stepTimesMs: window.stepTimesMs,
          tier: "cold",
          modelKey: window.seriesId,
          filledShare: window.filledShare,
          freshSteps: window.freshSteps,
          skippedOrigins: window.skippedOrigins,
        });
      }
      return forecasts;
    },
  };
}

/** A function of series, origin and model version, so that a replay cannot invent a second one. */
function forecastId(seriesId: string, originMs: number, modelVersion: string): string {
  return `${seriesId}@${originMs}/${modelVersion}`;
}
