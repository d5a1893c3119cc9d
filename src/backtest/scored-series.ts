// The forecasts of one series under one system, scored one after the other. Nothing is kept of a forecast but its scores, and a few
// to be shown.

import type { SeriesSettings } from "../domain.ts";
import type { ForecastRecord } from "../log/codec/schemas.generated.ts";
import { type SeriesPoints, type Truth, truthOf } from "./series-points.ts";
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

/** What a forecast is scored by. */
export type MadeForecast = Pick<ForecastRecord, "origin" | "times" | "mean" | "quantiles" | "horizon">;

/** Without the series that cannot be scored. */
export function scoredSeriesOf(
  all: readonly SeriesPoints[],
  settingsOf: (seriesId: string) => SeriesSettings,
  testShare: number,
): ReadonlyMap<string, ScoredSeries> {
  const scored = new Map<string, ScoredSeries>();
  for (const points of all) {
    const truth = truthOf(points, settingsOf(points.seriesId), testShare);
    if (truth !== null) scored.set(points.seriesId, new ScoredSeries(points.seriesId, truth));
  }
  return scored;
}

/** In the order of the series. */
export function resultsOf(
  all: readonly SeriesPoints[],
  scored: ReadonlyMap<string, ScoredSeries>,
): readonly SeriesResult[] {
  return all.map(({ seriesId }) => scored.get(seriesId)?.result() ?? unscored(seriesId));
}

function unscored(seriesId: string): SeriesResult {
  return { seriesId, scores: null, originsMs: new Float64Array(0), crps: new Float64Array(0), shown: [] };
}

export class ScoredSeries {
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

  get testFromMs(): number {
    return this.#truth.testFromMs;
  }

  add({ origin, times, mean, quantiles, horizon }: MadeForecast): void {
    const { testFromMs, naiveError } = this.#truth;
    const levels = quantiles.map(({ level }) => level);
    this.#scores ??= new TestScores(levels, horizon, naiveError);
    const forecast = { mean, quantiles: quantiles.map(({ values }) => values) };
    let [sum, steps] = [0, 0];
    for (let h = 0; h < horizon; h++) {
      const timeMs = times[h];
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
