// The forecasts as pages: `/forecasts`, one line of JSON a series, and `/forecasts/<series id>`, one in full.

import type { ForecastRecord } from "../../log/codec/schemas.generated.ts";
import { json, type Routes, text } from "../../runtime/http.ts";
import type { ForecastBoard } from "./forecast-board.ts";

export function forecastRoutes(board: ForecastBoard): Routes {
  return {
    "/forecasts": () => ({ ...json(200, null), body: linePerItem(board.latestForecasts().map(briefly)) }),
    "/forecasts/": (seriesId) => {
      const forecast = board.latestOf(seriesId);
      return forecast === null
        ? text(404, `no forecast of a series "${seriesId}" yet; /forecasts lists the series that have one`)
        : json(200, inFull(forecast));
    },
  };
}

function briefly({ id, seriesId, origin, interval, tier, method, mean, quantiles }: ForecastRecord) {
  return { id, seriesId, origin: isoTime(origin), interval, tier, method, mean, quantiles };
}

function inFull(forecast: ForecastRecord) {
  return { ...forecast, origin: isoTime(forecast.origin), times: forecast.times.map(isoTime) };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

function linePerItem(items: readonly unknown[]): string {
  return `[\n${items.map((item) => JSON.stringify(item)).join(",\n")}\n]\n`;
}
