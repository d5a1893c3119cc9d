// What the forecast stage asks for its forecasts, whoever makes them.

import type { Forecast, Window } from "../domain.ts";

/** Turns windows into forecasts; a window nothing can be said about yields none. */
export interface Forecaster {
  forecast(windows: readonly Window[]): readonly Forecast[] | Promise<readonly Forecast[]>;
}

/** A function of series, origin and model version, so that a replay cannot invent a second one. */
export function forecastId(seriesId: string, originMs: number, modelVersion: string): string {
  return `${seriesId}@${originMs}/${modelVersion}`;
}
