// What a subscriber of the forecast topic knows: the latest forecast of each series, its latency, and whether it held.
// Readings come from the simulated fleet, forecasts from the topic. Also serves the forecasts over HTTP.

import type { ForecastRecord } from "../../log/codec/schemas.generated.ts";
import { json, type Routes, text } from "../../runtime/http.ts";
import type { Reading, Sensor } from "../simulated/fleet.ts";
import type { Outlook } from "../terminal-chart.ts";
import { stepMs } from "./settings.ts";

/** The 80 % interval is between these two quantiles. */
const lowLevel = 0.1;
const highLevel = 0.9;
const mostReadings = 256;
const mostLatencies = 1_000;

/** The live scores that a series' newest forecast states. */
interface ScoresView {
  readonly mase: number;
  /** Observed coverage of the 80 % interval. */
  readonly coverage: number;
}

export interface SeriesView {
  readonly seriesId: string;
  readonly unit: string;
  /** One value per step, oldest first; NaN where none was observed. */
  readonly history: readonly number[];
  readonly outlook: readonly Outlook[];
  readonly tier: string;
  readonly method: string;
  /** Null until forecasts of the method have matured. */
  readonly scores: ScoresView | null;
  /** Whether the newest observation fell inside the interval forecast for it; null without such a forecast. */
  readonly isInside: boolean | null;
}

export interface Coverage {
  readonly inside: number;
  readonly scored: number;
}

export interface Latency {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

interface Track {
  readonly sensor: Sensor;
  /** By event time, in the order sent; sentMs is null during the back-fill. */
  readonly readingByTime: Map<number, { readonly value: number; readonly sentMs: number | null }>;
  newestMs: number;
  latest: ForecastRecord | null;
  isInside: boolean | null;
}

export class ForecastBoard {
  readonly #trackBySeries: ReadonlyMap<string, Track>;
  readonly #latenciesMs: number[] = [];
  #forecasts = 0;
  #repeated = 0;
  #inside = 0;
  #scored = 0;

  constructor(sensors: readonly Sensor[]) {
    this.#trackBySeries = new Map(sensors.map((sensor) => [sensor.seriesId, createTrack(sensor)]));
  }

  /** Series in the fleet. */
  get size(): number {
    return this.#trackBySeries.size;
  }

  /** Series whose newest forecast comes from a model. */
  get modelled(): number {
    return this.latestForecasts().filter(({ tier }) => tier === "MODEL").length;
  }

  /** Forecasts read from the topic. */
  get forecasts(): number {
    return this.#forecasts;
  }

  /** Forecasts that are not newer than the one before; 0 if each is written once. */
  get repeated(): number {
    return this.#repeated;
  }

  get coverage(): Coverage {
    return { inside: this.#inside, scored: this.#scored };
  }

  /** Notes a reading that is being sent. `sentMs` is the wall clock; null when its latency is not measured. */
  expect({ seriesId, timeMs, value }: Reading, sentMs: number | null): void {
    const track = this.#trackBySeries.get(seriesId);
    if (track === undefined) return;
    const { readingByTime } = track;
    readingByTime.set(timeMs, { value, sentMs });
    track.newestMs = Math.max(track.newestMs, timeMs);
    if (readingByTime.size > mostReadings) {
      for (const oldest of readingByTime.keys()) {
        readingByTime.delete(oldest);
        break;
      }
    }
  }

  /** Takes a forecast from the topic. */
  receive(forecast: ForecastRecord, nowMs: number): void {
    const track = this.#trackBySeries.get(forecast.seriesId);
    if (track === undefined) return;
    this.#forecasts++;
    if (track.latest !== null && forecast.origin <= track.latest.origin) this.#repeated++;
    const reading = track.readingByTime.get(forecast.origin);
    if (reading !== undefined) {
      this.#score(track, forecast.origin, reading.value);
      if (reading.sentMs !== null) this.#noteLatency(nowMs - reading.sentMs);
    }
    track.latest = forecast;
  }

  latency(): Latency | null {
    if (this.#latenciesMs.length === 0) return null;
    const sorted = [...this.#latenciesMs].sort((a, b) => a - b);
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
    return { p50Ms: at(0.5), p99Ms: at(0.99) };
  }

  latestForecasts(): readonly ForecastRecord[] {
    return [...this.#trackBySeries.values()].flatMap(({ latest }) => (latest === null ? [] : [latest]));
  }

  latestOf(seriesId: string): ForecastRecord | null {
    return this.#trackBySeries.get(seriesId)?.latest ?? null;
  }

  /** The first `count` series with their last `steps` observations. */
  views(count: number, steps: number): readonly SeriesView[] {
    return [...this.#trackBySeries.values()].slice(0, count).map((track) => viewOf(track, steps));
  }

  #score(track: Track, timeMs: number, value: number): void {
    const [next] = track.latest?.times[0] === timeMs ? outlookOf(track.latest) : [];
    track.isInside = next === undefined ? null : value >= next.low && value <= next.high;
    if (track.isInside === null) return;
    this.#scored++;
    if (track.isInside) this.#inside++;
  }

  #noteLatency(ms: number): void {
    this.#latenciesMs.push(Math.max(0, ms));
    if (this.#latenciesMs.length > mostLatencies) this.#latenciesMs.shift();
  }
}

function createTrack(sensor: Sensor): Track {
  return { sensor, readingByTime: new Map(), newestMs: 0, latest: null, isInside: null };
}

function viewOf({ sensor, readingByTime, newestMs, latest, isInside }: Track, steps: number): SeriesView {
  const timeOf = (i: number) => newestMs - (steps - 1 - i) * stepMs;
  return {
    seriesId: sensor.seriesId,
    unit: sensor.kind.unit,
    history: Array.from({ length: steps }, (_, i) => readingByTime.get(timeOf(i))?.value ?? Number.NaN),
    outlook: latest === null ? [] : outlookOf(latest),
    tier: latest?.tier.toLowerCase() ?? "",
    method: latest?.method ?? "no forecast yet",
    scores: scoresOf(latest),
    isInside,
  };
}

function scoresOf(latest: ForecastRecord | null): ScoresView | null {
  const scores = latest?.scores ?? null;
  const interval = scores?.coverage.find(({ stated }) => Math.abs(stated - (highLevel - lowLevel)) < 1e-9);
  return scores === null || interval === undefined
    ? null
    : { mase: scores.mase, coverage: interval.observed };
}

function outlookOf({ horizon, quantiles, mean }: ForecastRecord): readonly Outlook[] {
  const valuesAt = (level: number) => quantiles.find((quantile) => quantile.level === level)?.values ?? mean;
  const [low, median, high] = [valuesAt(lowLevel), valuesAt(0.5), valuesAt(highLevel)];
  return Array.from({ length: horizon }, (_, h) => ({ low: low[h], median: median[h], high: high[h] }));
}

/** `/forecasts` lists all series, one line each; `/forecasts/<series id>` is one in full. */
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
