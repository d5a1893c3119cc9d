// The forecaster of series that have no model: seasonal-naive once two seasons are there, persistence
// before. It says so in every forecast.

import type { Forecast, Window } from "../domain.ts";
import type { BaselineForecast } from "../models/baseline.ts";
import { forecastCold } from "../models/cold.ts";
import { type Forecaster, forecastId } from "./forecaster.ts";

export function createColdForecaster(levels: readonly number[]): Forecaster {
  return {
    forecast: (windows) => windows.map((window) => coldForecastOf(window, levels)),
  };
}

/** Null when nothing can be said about the window yet. */
export function coldForecastOf(window: Window, levels: readonly number[]): Forecast | null {
  const distribution = forecastCold(window, levels);
  return distribution === null ? null : toForecast(window, distribution);
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
    calibration: null,
    scores: null,
  };
}
