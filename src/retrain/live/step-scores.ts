// The scores of one step of one forecast, added up over the forecasts that foresaw the same slot. Pure arithmetic on
// typed arrays: it runs some dozens of times for every observation of a fleet, so nothing is allocated here.
//
// A tally is [steps, absolute error, the same but bounded, pinball loss, CRPS, then per central interval how often it
// held]. Errors and the pinball loss are in units of the naive error, so that channels and series can be compared; the
// CRPS is in units of the series.

import type { Hindsight } from "../../models/hindsight.ts";

export const STEPS = 0;
export const ABSOLUTE = 1;
export const CAPPED = 2;
export const PINBALL = 3;
export const CRPS = 4;
export const INSIDE = 5;

/** A central interval: the places of its two levels, and the probability that it states. */
interface Central {
  readonly low: number;
  readonly high: number;
  readonly stated: number;
}

/** The median is (1 − medianShare) × quantile `below` + medianShare × quantile `above`. */
interface Median {
  readonly below: number;
  readonly above: number;
  readonly medianShare: number;
}

/** What follows from the levels alone; the numbers that are used for every step lie in typed arrays. */
export interface ScoreRule extends Median {
  readonly levels: readonly number[];
  /** The same. */
  readonly level: Float64Array;
  /** Narrowest first. */
  readonly intervals: readonly Central[];
  /** The places of their levels. */
  readonly lows: Int32Array;
  readonly highs: Int32Array;
  /** Of the pinball losses in the CRPS, twice the trapezoid rule over the stated levels; they add up to 2. */
  readonly weights: Float64Array;
  readonly tallyLength: number;
}

/** Levels ascending, at least one. */
export function createScoreRule(levels: readonly number[]): ScoreRule {
  const intervals = centralIntervals(levels);
  return {
    levels,
    level: Float64Array.from(levels),
    ...medianOf(levels),
    intervals,
    lows: Int32Array.from(intervals, ({ low }) => low),
    highs: Int32Array.from(intervals, ({ high }) => high),
    weights: trapezoid(levels),
    tallyLength: INSIDE + intervals.length,
  };
}

/**
 * An error of more naive errors than this says no more than "useless". A bound keeps every sum finite, and lets a
 * mistaken value that is replaced later come out of the sums again without leaving a rounding error behind.
 */
const MOST_NAIVE_ERRORS = 1e9;

/** Adds up the steps of a slot; used again and again. */
export class Tally {
  readonly rule: ScoreRule;
  readonly sums: Float64Array;

  constructor(rule: ScoreRule) {
    this.rule = rule;
    this.sums = new Float64Array(rule.tallyLength);
  }

  /** Begins anew, with all forecasts of a slot. Their mean error counts for no more than `errorCap` in the bounded sum. */
  add(hindsight: Hindsight, naiveErrors: readonly number[], errorCap: number): void {
    const { level, weights, below, above, medianShare, lows, highs } = this.rule;
    const { count, quantiles, starts, actuals } = hindsight;
    const { sums } = this;
    const channels = naiveErrors.length;
    const share = 1 / channels;
    let absolute = 0;
    let pinballs = 0;
    let crpss = 0;
    sums.fill(0);
    for (let i = 0; i < count; i++) {
      for (let c = 0, at = starts[i]; c < channels; c++, at += level.length) {
        const actual = actuals[c];
        const most = MOST_NAIVE_ERRORS * naiveErrors[c];
        const perNaiveError = share / naiveErrors[c];
        let pinball = 0;
        let crps = 0;
        for (let l = 0; l < level.length; l++) {
          const error = actual - quantiles[at + l];
          const loss = error >= 0 ? level[l] * error : (level[l] - 1) * error;
          pinball += loss;
          crps += weights[l] * loss;
        }
        const near = actual - quantiles[at + below];
        const centre = near + (quantiles[at + below] - quantiles[at + above]) * medianShare;
        absolute += bounded(Math.abs(centre), most) * perNaiveError;
        pinballs += bounded(pinball / level.length, most) * perNaiveError;
        crpss += bounded(crps, most) * share;
        for (let k = 0; k < lows.length; k++) {
          if (actual >= quantiles[at + lows[k]] && actual <= quantiles[at + highs[k]])
            sums[INSIDE + k] += share;
        }
      }
    }
    sums[STEPS] = count;
    sums[ABSOLUTE] = absolute;
    sums[CAPPED] = Math.min(absolute, errorCap * count);
    sums[PINBALL] = pinballs;
    sums[CRPS] = crpss;
  }
}

/** Also of what is no number. */
function bounded(error: number, most: number): number {
  return error < most ? error : most;
}

function medianOf(levels: readonly number[]): Median {
  const above = levels.findIndex((level) => level > 0.5 - 1e-9);
  if (above <= 0 || Math.abs(levels[above] - 0.5) < 1e-9) {
    const only = above < 0 ? levels.length - 1 : above;
    return { below: only, above: only, medianShare: 0 };
  }
  const below = above - 1;
  return { below, above, medianShare: (0.5 - levels[below]) / (levels[above] - levels[below]) };
}

function centralIntervals(levels: readonly number[]): Central[] {
  const intervals: Central[] = [];
  for (let low = levels.length - 1; low >= 0; low--) {
    if (levels[low] >= 0.5 - 1e-9) continue;
    const high = levels.findIndex((level) => Math.abs(level - (1 - levels[low])) < 1e-9);
    if (high >= 0) intervals.push({ low, high, stated: Math.round((1 - 2 * levels[low]) * 1e9) / 1e9 });
  }
  return intervals;
}

function trapezoid(levels: readonly number[]): Float64Array {
  const last = levels.length - 1;
  if (last === 0) return Float64Array.of(2);
  const span = levels[last] - levels[0];
  return Float64Array.from(
    levels,
    (_, l) => (levels[Math.min(l + 1, last)] - levels[Math.max(l - 1, 0)]) / span,
  );
}
