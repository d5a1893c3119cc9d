// Replays series through the worker under one configuration, and scores every forecast of the test part as it comes: what this
// system would have published. Nothing is kept of a forecast but its scores, and a few to be shown.

import type { ForecastRecord, ModelEventRecord } from "../log/codec/schemas.generated.ts";
import { Replay } from "../replay/replay.ts";
import { cpuSeconds } from "../runtime/clock.ts";
import type { AppConfig } from "../runtime/config/schema.ts";
import { seriesRules } from "../runtime/config/series-rules.ts";
import { arrivals, type SeriesPoints, type Truth, truthOf } from "./series-points.ts";
import { type ShownForecast, ShownForecasts } from "./shown-forecasts.ts";
import { type Scores, TestScores } from "./test-scores.ts";

/** What a series is compared by. */
export interface SeriesResult {
  readonly seriesId: string;
  /** Null when nothing could be scored. */
  readonly scores: Scores | null;
  /** Forecasts with a step in the test part, by origin, with their CRPS in naive errors. */
  readonly originsMs: Float64Array;
  readonly crps: Float64Array;
  readonly shown: readonly ShownForecast[];
}

/** A decision about a model. */
export interface Decision {
  readonly seriesId: string;
  readonly timeMs: number;
  readonly kind: string;
  readonly reason: string;
}

export interface SystemResult {
  readonly series: readonly SeriesResult[];
  readonly decisions: readonly Decision[];
  /** Of the whole replay, training included. */
  readonly cpuSeconds: number;
}

export interface SystemOptions {
  readonly config: AppConfig;
  /** Share of each series, at its end, in which forecasts are scored. */
  readonly testShare: number;
  /** The longest move of the clock: how often the retraining loop comes round. */
  readonly resolutionMs: number;
  /** Called with the number of points replayed so far. */
  readonly onProgress?: (points: number) => void;
}

/** Between two looks at what was published. */
const timesPerLook = 16;

export async function replaySystem(
  all: readonly SeriesPoints[],
  { config, testShare, resolutionMs, onProgress }: SystemOptions,
): Promise<SystemResult> {
  const startedAt = cpuSeconds();
  const settingsOf = seriesRules(config.series);
  const scored = new Map<string, ScoredSeries>();
  for (const points of all) {
    const truth = truthOf(points, settingsOf(points.seriesId), testShare);
    if (truth !== null) scored.set(points.seriesId, new ScoredSeries(points.seriesId, truth));
  }
  const decisions: Decision[] = [];
  const startMs = all.reduce(
    (least, { timesMs }) => Math.min(least, timesMs[0] ?? least),
    Number.POSITIVE_INFINITY,
  );
  const retainRecords = 4 * timesPerLook * all.length + 1_000;
  const replay = await Replay.open({ config, startMs, retainRecords, resolutionMs });
  const look = async () => {
    for (const forecast of await replay.takeForecasts()) scored.get(forecast.seriesId)?.add(forecast);
    for (const event of await replay.takeEvents()) decisions.push(decisionOf(event));
  };
  try {
    let [times, points] = [0, 0];
    for (const together of arrivals(all)) {
      await replay.feed(together);
      points += together.length;
      if (++times % timesPerLook !== 0) continue;
      await look();
      onProgress?.(points);
    }
    await look();
    onProgress?.(points);
  } finally {
    await replay.close();
  }
  const series = all.map(({ seriesId }) => scored.get(seriesId)?.result() ?? unscored(seriesId));
  return { series, decisions, cpuSeconds: cpuSeconds() - startedAt };
}

function unscored(seriesId: string): SeriesResult {
  return { seriesId, scores: null, originsMs: new Float64Array(0), crps: new Float64Array(0), shown: [] };
}

function decisionOf({ modelKey, time, kind, reason }: ModelEventRecord): Decision {
  return { seriesId: modelKey, timeMs: time, kind: kind.toLowerCase(), reason };
}

class ScoredSeries {
  readonly #seriesId: string;
  readonly #truth: Truth;
  readonly #shown = new ShownForecasts();
  readonly #originsMs: number[] = [];
  readonly #crps: number[] = [];
  #scores: TestScores | null = null;

  constructor(seriesId: string, truth: Truth) {
    this.#seriesId = seriesId;
    this.#truth = truth;
  }

  add({ origin, times, mean, quantiles, horizon }: ForecastRecord): void {
    const { testFromMs, naiveError } = this.#truth;
    const levels = quantiles.map(({ level }) => level);
    this.#scores ??= new TestScores(levels, horizon, naiveError);
    const forecast = { mean, quantiles: quantiles.map(({ values }) => values) };
    let [sum, steps] = [0, 0];
    for (let h = 0; h < horizon; h++) {
      const timeMs = times[h] as number;
      const actual = this.#truth.at(timeMs);
      if (timeMs < testFromMs || Number.isNaN(actual)) continue;
      sum += this.#scores.add(actual, forecast, h);
      steps++;
    }
    if (steps === 0) return;
    this.#originsMs.push(origin);
    this.#crps.push(sum / steps);
    // A forecast that reaches beyond the end would be shown with half of its actual values.
    if (steps === horizon)
      this.#shown.add({
        originMs: origin,
        timesMs: times,
        levels,
        quantiles: forecast.quantiles,
        crps: sum / steps,
      });
  }

  result(): SeriesResult {
    return {
      seriesId: this.#seriesId,
      scores: this.#scores?.scores() ?? null,
      originsMs: Float64Array.from(this.#originsMs),
      crps: Float64Array.from(this.#crps),
      shown: this.#shown.chosen(),
    };
  }
}
