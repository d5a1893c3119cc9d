// How histories are split to judge candidates: twice, a net is trained on a first part and judged on what follows it.
// The origins at which it is judged are the same for all candidates.

import { isFilled, stepsOf, type TrainingSeries } from "./training-series.ts";

export interface Origin {
  /** Index of the series. */
  readonly series: number;
  /** The step of the first target. */
  readonly step: number;
}

export interface Fold {
  /** Of each series: the net is trained on steps before this. */
  readonly trainTo: readonly number[];
  /** Windows before and targets after them hold no gap. */
  readonly origins: readonly Origin[];
}

const splits = [
  [0.6, 0.8],
  [0.8, 1],
] as const;

/** The part of a history that the first fold learns from. */
export const [[firstPart]] = splits;

const wantedOrigins = 60;
/** Of a whole cohort: beyond this, judging would take longer than training. */
const mostOrigins = 240;

export interface Reach {
  readonly horizon: number;
  readonly channels: number;
  /** Steps of the longest window of any candidate. */
  readonly longest: number;
}

export function foldsOf(series: readonly TrainingSeries[], reach: Reach): Fold[] {
  return splits.map(([from, to]) => {
    const steps = series.map((one) => stepsOf(one, reach.channels));
    const trainTo = steps.map((count) => Math.floor(count * from));
    const origins = series.flatMap((one, i) => {
      const range = { from: trainTo[i], to: Math.floor(steps[i] * to) };
      return originsOf(one, range, reach).map((step) => ({ series: i, step }));
    });
    return { trainTo, origins: series.length === 1 ? origins : thinOrigins(origins) };
  });
}

function originsOf(
  series: TrainingSeries,
  { from, to }: { readonly from: number; readonly to: number },
  { horizon, channels, longest }: Reach,
): number[] {
  const stride = Math.max(1, Math.floor(Math.min(horizon / 4, (to - from - horizon) / wantedOrigins)));
  const origins: number[] = [];
  for (let origin = from; origin + horizon <= to; origin += stride) {
    const seen = series.values.subarray(
      Math.max(0, origin - longest) * channels,
      (origin + horizon) * channels,
    );
    if (origin < longest || !seen.every((value) => Number.isFinite(value))) continue;
    if (observedSteps(series, origin, horizon).length > 0) origins.push(origin);
  }
  return origins;
}

/** Steps after the origin whose values were observed, counted from it: only those judge. */
export function observedSteps(series: TrainingSeries, origin: number, horizon: number): number[] {
  return Array.from({ length: horizon }, (_, h) => h).filter((h) => !isFilled(series, origin + h));
}

function thinOrigins(origins: readonly Origin[]): readonly Origin[] {
  if (origins.length <= mostOrigins) return origins;
  return Array.from({ length: mostOrigins }, (_, i) => {
    return origins[Math.floor(((i + 0.5) * origins.length) / mostOrigins)];
  });
}
