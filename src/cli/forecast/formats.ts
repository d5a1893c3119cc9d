// Forecasts as CSV, as JSON and as text for people.

import { nearestLevel } from "../../models/scores.ts";
import type { TimedValue } from "../../plots/fan-chart.ts";
import { paint } from "../styled-text.ts";
import { drawChart } from "../terminal-chart.ts";
import { numberText, printable, timeText } from "../terminal-text.ts";
import type { SeriesForecast } from "./forecast-series.ts";

/** A forecast with the past that it continues. */
export interface Continued {
  readonly forecast: SeriesForecast;
  /** Oldest first, NaN in a gap. */
  readonly past: readonly TimedValue[];
  /** False where the rows of the file carry no time. */
  readonly hasTimes: boolean;
}

export function csvLines(continued: readonly Continued[]): readonly string[] {
  const levels = continued[0]?.forecast.levels ?? [];
  const header = ["series", "step", "time", "mean", ...levels.map((level) => `q${level}`)].join(",");
  const rows = continued.flatMap(({ forecast, hasTimes }) =>
    forecast.timesMs.map((timeMs, h) =>
      [
        quoted(forecast.seriesId),
        h + 1,
        hasTimes ? isoTime(timeMs) : "",
        forecast.mean[h],
        ...forecast.quantiles.map((values) => values[h]),
      ].join(","),
    ),
  );
  return [header, ...rows];
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function jsonText(continued: readonly Continued[]): string {
  const records = continued.map(({ forecast, hasTimes }) => {
    const { originMs, timesMs, quantiles, levels, ...facts } = forecast;
    return {
      ...facts,
      origin: hasTimes ? isoTime(originMs) : null,
      times: hasTimes ? timesMs.map(isoTime) : null,
      quantiles: levels.map((level, l) => ({ level, values: quantiles[l] })),
    };
  });
  return JSON.stringify(records, null, 2);
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

interface TextStyle {
  readonly columns: number;
  readonly isColoured: boolean;
}

const chartRows = 8;
/** Of the chart's width, left to the past. */
const pastShare = 2 / 3;

/** What was found, a chart, and the next step. */
export function textLines({ forecast, past, hasTimes }: Continued, style: TextStyle): readonly string[] {
  const { seriesId, timesMs } = forecast;
  const ahead = Math.min(timesMs.length, Math.floor(style.columns * (1 - pastShare)));
  const outlook = outlookOf(forecast);
  const [next] = outlook;
  const chart = drawChart(
    past.map(({ value }) => value),
    outlook,
    {
      rows: chartRows,
      columns: Math.max(1, style.columns - ahead - 1),
      ahead,
      isColoured: style.isColoured,
    },
  );
  const when = hasTimes ? timeText(timesMs[0] ?? 0) : "next step";
  return [
    printable(seriesId),
    ...summaryLines(forecast),
    ...chart.map((line) => paint(line, style.columns, style.isColoured)),
    next === undefined
      ? ""
      : `${when}: ${numberText(next.median)}, ${numberText(next.low)} … ${numberText(next.high)} with 80 %`,
  ];
}

/** Who forecasts and how good that is, in one or two lines. */
export function summaryLines({
  method,
  interval,
  season,
  reason,
  scores,
}: SeriesForecast): readonly string[] {
  const judged =
    scores === null
      ? ""
      : `; on the last ${scores.steps} steps, unseen: MASE ${scores.mase.toFixed(2)}, seasonal-naive ${scores.naiveMase.toFixed(2)}`;
  const found = `${method}, every ${interval}, season ${season} steps${judged}`;
  return reason === "" ? [found] : [found, `no model: ${reason}`];
}

function outlookOf({ levels, quantiles, timesMs }: SeriesForecast) {
  const [low, median, high] = [0.1, 0.5, 0.9].map((level) => quantiles[nearestLevel(levels, level)]);
  return timesMs.map((_, h) => ({
    low: low[h],
    median: median[h],
    high: high[h],
  }));
}
