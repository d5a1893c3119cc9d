// Folds of a history: twice, a model is trained on a first part and scored on the part that follows. All candidates are
// scored at the same origins, every series and channel in units of its naive error.

import type { TrainingSeries } from "./family.ts";
import type { Origin } from "./held-out.ts";
import { naiveErrorOf } from "./scores.ts";

export interface Fold {
  /** Per series: the model is trained on the steps before this. */
  readonly trainTo: readonly number[];
  /** Their windows and targets have no gap. */
  readonly origins: readonly Origin[];
}

const splits = [
  [0.6, 0.8],
  [0.8, 1],
] as const;

/** The share of a history that the first fold trains on. */
export const [[firstPart]] = splits;

const wantedOrigins = 60;
/** Of all members of a cohort: with more, scoring would take longer than training. */
const mostOrigins = 240;

export interface FoldReach {
  readonly horizon: number;
  readonly channels: number;
  /** Steps of the longest window of any candidate. */
  readonly longest: number;
}

export function foldsOf(series: readonly TrainingSeries[], reach: FoldReach): Fold[] {
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

/** Share of the possible origins that come before the first rolling fold. */
export const firstRollingPart = 0.6;
const rollingCount = 3;
const rollingOrigins = 40;
/** Horizons in a history from which on the two folds have origins enough. */
const horizonsForTwo = 20;

/** Whether `rollingFolds` are the two folds of `foldsOf`. */
export function hasTwoFolds(series: readonly TrainingSeries[], { channels, horizon }: FoldReach): boolean {
  return series.every((one) => stepsOf(one, channels) >= horizonsForTwo * horizon);
}

/**
 * The two folds where the history is long enough for them. Otherwise three that follow one another to the end of the history, and the
 * targets of an origin may reach into the next fold.
 */
export function rollingFolds(series: readonly TrainingSeries[], reach: FoldReach): Fold[] {
  if (hasTwoFolds(series, reach)) return foldsOf(series, reach);
  const { channels, horizon } = reach;
  const lasts = series.map((one) => stepsOf(one, channels) - horizon);
  const startOf = (fold: number, last: number) => {
    const first = Math.floor(firstRollingPart * last);
    return first + Math.floor(((last + 1 - first) * fold) / rollingCount);
  };
  return Array.from({ length: rollingCount }, (_, fold) => {
    const trainTo = lasts.map((last) => startOf(fold, last));
    const origins = series.flatMap((one, i) => {
      const [from, to] = [trainTo[i], startOf(fold + 1, lasts[i])];
      const stride = Math.max(1, Math.floor(Math.min(horizon / 4, (to - from) / rollingOrigins)));
      const steps: number[] = [];
      for (let step = from; step < to; step += stride) if (isWhole(one, step, reach)) steps.push(step);
      return steps.map((step) => ({ series: i, step }));
    });
    return { trainTo, origins: series.length === 1 ? origins : thinOrigins(origins) };
  });
}

/** Neither the window before the origin nor the targets after it have a gap. */
function isWhole(series: TrainingSeries, origin: number, { channels, longest, horizon }: FoldReach): boolean {
  if (origin < longest) return false;
  for (let i = (origin - longest) * channels; i < (origin + horizon) * channels; i++)
    if (!Number.isFinite(series.values[i])) return false;
  return true;
}

function originsOf(
  series: TrainingSeries,
  { from, to }: { readonly from: number; readonly to: number },
  reach: FoldReach,
): number[] {
  const { horizon } = reach;
  const stride = Math.max(1, Math.floor(Math.min(horizon / 4, (to - from - horizon) / wantedOrigins)));
  const origins: number[] = [];
  for (let origin = from; origin + horizon <= to; origin += stride) {
    if (!isWhole(series, origin, reach)) continue;
    if (series.filled === null || observedSteps(series, origin, horizon).length > 0) origins.push(origin);
  }
  return origins;
}

/** Steps from the origin on whose values were observed: only those are scored. */
export function observedSteps(series: TrainingSeries, origin: number, horizon: number): number[] {
  return Array.from({ length: horizon }, (_, h) => h).filter((h) => !isFilled(series, origin + h));
}

function thinOrigins(origins: readonly Origin[]): readonly Origin[] {
  if (origins.length <= mostOrigins) return origins;
  return Array.from({ length: mostOrigins }, (_, i) => {
    return origins[Math.floor(((i + 0.5) * origins.length) / mostOrigins)];
  });
}

/** How many times τ steps the origins cover, all series together. */
export function spansOf(origins: readonly Origin[], horizon: number): number {
  const lastBySeries = new Map<number, number>();
  let steps = 0;
  for (const { series, step } of origins) {
    const last = lastBySeries.get(series);
    steps += last === undefined ? horizon : Math.min(horizon, step - last);
    lastBySeries.set(series, step);
  }
  return steps / horizon;
}

/** A series with its naive error per channel, the unit of its forecast errors. */
export interface MeasuredSeries extends TrainingSeries {
  readonly units: readonly number[];
}

/** A channel that never moves has the unit 1. */
export function measureSeries(series: TrainingSeries, channels: number): MeasuredSeries {
  const units = Array.from({ length: channels }, (_, channel) => {
    const own = channelOf(series.values, channels, channel);
    const observed = own.map((value, step) => (isFilled(series, step) ? Number.NaN : value));
    // When every second value was filled, no two neighbours were observed.
    return naiveErrorOf(observed, 0, own.length) ?? naiveErrorOf(own, 0, own.length) ?? 1;
  });
  return { ...series, units };
}

export function isFilled({ filled }: TrainingSeries, step: number): boolean {
  return filled !== null && filled[step] === 1;
}

export function stepsOf({ values }: TrainingSeries, channels: number): number {
  return Math.floor(values.length / channels);
}

function channelOf(values: Float64Array, channels: number, channel: number): Float64Array {
  const own = new Float64Array(Math.floor(values.length / channels));
  for (let step = 0; step < own.length; step++) own[step] = values[step * channels + channel];
  return own;
}
