// The rules by which forecasters are compared. N points; the test part is the last min(⌊N/10⌋, 1000); origins from
// its first point every τ/2 steps while τ steps are left. A forecaster is fitted once, on a history
// before the test part, and at an origin sees only what lies before it. MASE and CRPS are divided by the mean
// |x_t − x_(t−1)| over all points before the test part.

import { naiveErrorOf, ScoreSheet } from "../../src/models/scores.ts";
import type { SampleSeries } from "./sample-series.ts";

export const levels = Array.from({ length: 19 }, (_, i) => (i + 1) / 20);

/** The τ steps after one origin. */
export interface PointAndQuantiles {
  /** The forecast whose absolute error counts; the median unless the method has a point of its own. */
  readonly point: ArrayLike<number>;
  /** [level][step] */
  readonly quantiles: readonly ArrayLike<number>[];
}

/** Origins count from the start of `values`. */
export type FittedForecaster = (
  values: Float64Array,
  origins: readonly number[],
) => Promise<readonly PointAndQuantiles[]>;

/** Fits on the whole of `past`, which ends where the test part begins. */
export type Forecaster = (past: Past, season: number, name: string) => Promise<FittedForecaster>;

export interface Past {
  readonly values: Float64Array;
  /** Index in the series of the first of them. */
  readonly firstStep: number;
}

export interface Score {
  readonly mase: number;
  readonly crps: number;
  readonly coverage80: number;
}

/** How much of the past a forecaster is fitted on. */
export interface HistoryRule {
  readonly name: "default" | "long";
  readonly title: string;
  stepsOf(horizon: number): number;
}

/** What a worker stores by default, and what the other forecasters had. */
export const histories: readonly HistoryRule[] = [
  { name: "default", title: "With the default history, 60 horizons", stepsOf: (horizon) => 60 * horizon },
  { name: "long", title: "With 3,000 points", stepsOf: () => 3_000 },
];
const longHistory = histories[1];

export async function scoreForecaster(
  series: SampleSeries,
  forecaster: Forecaster,
  history = longHistory,
): Promise<Score> {
  const { values, season, horizon, name } = series;
  const naiveError = unitOf(series);
  const origins = originsOf(series);
  const fitted = await forecaster(pastOf(series, history), season, name);
  const forecasts = await fitted(values, origins);
  const sheet = new ScoreSheet(levels);
  origins.forEach((origin, i) => {
    for (let h = 0; h < horizon; h++) {
      sheet.add(
        values[origin + h],
        forecasts[i].quantiles.map((quantiles) => quantiles[h]),
        forecasts[i].point[h],
      );
    }
  });
  return { mase: sheet.mase(naiveError), crps: sheet.crps(naiveError), coverage80: sheet.coverage80 };
}

/** The first is the first point of the test part. */
export function originsOf({ values, horizon }: SampleSeries): readonly number[] {
  const origins: number[] = [];
  for (let o = testStart(values); o + horizon <= values.length; o += horizon / 2) origins.push(Math.floor(o));
  return origins;
}

/** What errors are divided by. */
export function unitOf({ values, name }: SampleSeries): number {
  const naiveError = naiveErrorOf(values, 0, testStart(values));
  if (naiveError !== null) return naiveError;
  throw new Error(`${name}: it does not move before its test part; nothing can be scored`);
}

/** What a forecaster may be fitted on. */
export function pastOf({ values, horizon }: SampleSeries, history: HistoryRule): Past {
  const end = testStart(values);
  const firstStep = Math.max(0, end - history.stepsOf(horizon));
  return { values: values.slice(firstStep, end), firstStep };
}

function testStart({ length }: Float64Array): number {
  return length - Math.min(Math.floor(length / 10), 1_000);
}
