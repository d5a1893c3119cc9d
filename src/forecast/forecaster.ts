// What the forecast stage asks for its forecasts, whoever makes them.

import type { Forecast, Window } from "../domain.ts";

/** Turns windows into forecasts, one entry per window: null for one that nothing can be said about. */
export interface Forecaster {
  forecast(windows: readonly Window[]): readonly (Forecast | null)[] | Promise<readonly (Forecast | null)[]>;
}

/** A function of series, origin and model version, so that a replay cannot invent a second one. */
export function forecastId(seriesId: string, originMs: number, modelVersion: string): string {
  return `${seriesId}@${originMs}/${modelVersion}`;
}
