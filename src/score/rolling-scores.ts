// How good the forecasts of one model version have been recently. Reading order: ScoreRule (what follows from the
// quantile levels), SlotScores (sums over all forecasts that covered one slot), RollingScores (those sums, fading
// with the age of the slot). Pure arithmetic on typed arrays: SlotScores runs dozens of times per observation of a
// fleet, so it allocates nothing.
//
// Layout of the sums, also on the state topic: [steps, absolute error, capped absolute error, CRPS, then one count of
// hits per central interval]. Errors are in units of the naive error, which makes channels and series comparable; the
// CRPS is in units of the series.

import type { LiveScores } from "../domain.ts";
import type { MaturedSlot } from "./matured-slot.ts";
import { type Place, placeAlone } from "./series-memory.ts";

export const STEPS = 0;
export const ABSOLUTE = 1;
export const CAPPED = 2;
export const CRPS = 3;
export const INSIDE = 4;

/** A central interval: the indices of its two levels, and the probability that it states. */
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

/** Everything that follows from the levels alone. Numbers needed for every step are in typed arrays. */
export interface ScoreRule extends Median {
  readonly levels: Float64Array;
  /** Narrowest first. */
  readonly intervals: readonly Central[];
  /** One per interval: the index of its lower and of its upper level. */
  readonly lows: Int32Array;
  readonly highs: Int32Array;
  /** Weights of the pinball losses in the CRPS: twice the trapezoid rule over the levels. They add up to 2. */
  readonly weights: Float64Array;
  /** The weighted pinball loss of a level is tilt·error + half·|error|. */
  readonly tilts: Float64Array;
  readonly halves: Float64Array;
  readonly sumCount: number;
}

/** Levels ascending, at least one. */
export function createScoreRule(levels: readonly number[]): ScoreRule {
  const intervals = centralIntervals(levels);
  const weights = trapezoid(levels);
  return {
    levels: Float64Array.from(levels),
    ...medianOf(levels),
    intervals,
    lows: Int32Array.from(intervals, ({ low }) => low),
    highs: Int32Array.from(intervals, ({ high }) => high),
    weights,
    tilts: weights.map((weight, l) => weight * (levels[l] - 0.5)),
    halves: weights.map((weight) => weight / 2),
    sumCount: INSIDE + intervals.length,
  };
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

/**
 * An error of more naive errors than this means "useless" and no more. The bound keeps every sum finite, so that a
 * wrong value that is replaced later leaves the sums again without a rounding error.
 */
const MOST_NAIVE_ERRORS = 1e9;

/** The scores of one slot, summed over its forecasts. One object serves slot after slot. */
export class SlotScores {
  readonly rule: ScoreRule;
  readonly sums: Float64Array;

  constructor(rule: ScoreRule) {
    this.rule = rule;
    this.sums = new Float64Array(rule.sumCount);
  }

  /** Replaces the sums by those of another slot. `errorCap` limits the mean error in the capped sum. */
  compute(matured: MaturedSlot, naiveErrors: readonly number[], errorCap: number): void {
    const { tilts, halves, below, above, medianShare, lows, highs } = this.rule;
    const { count, quantiles, actuals, units } = matured;
    const levels = tilts.length;
    const { sums } = this;
    const channels = naiveErrors.length;
    const share = 1 / channels;
    let absolute = 0;
    let crpss = 0;
    sums.fill(0);
    for (let i = 0, output = 0, at = 0; i < count; i++) {
      for (let c = 0; c < channels; c++, output++, at += levels) {
        const actual = actuals[output];
        const most = MOST_NAIVE_ERRORS * naiveErrors[c];
        let crps = 0;
        const unit = units[output];
        for (let l = 0; l < levels; l++) {
          const error = actual - quantiles[at + l];
          crps += tilts[l] * error + halves[l] * Math.abs(error);
        }
        const near = actual - quantiles[at + below];
        const centre = near + (quantiles[at + below] - quantiles[at + above]) * medianShare;
        absolute += bounded(Math.abs(centre) * unit, most) * (share / naiveErrors[c]);
        crpss += bounded(crps * unit, most) * share;
        for (let k = 0; k < lows.length; k++) {
          if (actual >= quantiles[at + lows[k]] && actual <= quantiles[at + highs[k]])
            sums[INSIDE + k] += share;
        }
      }
    }
    sums[STEPS] = count;
    sums[ABSOLUTE] = absolute;
    sums[CAPPED] = Math.min(absolute, errorCap * count);
    sums[CRPS] = crpss;
  }
}

/** NaN is bounded too. */
function bounded(error: number, most: number): number {
  return error < most ? error : most;
}

/** Age is counted in slots, never in wall time: a pause of the worker forgets nothing. */
export class RollingScores {
  readonly rule: ScoreRule;
  readonly #rollingSteps: number;
  readonly #doubles: Float64Array;
  readonly #at: number;
  #newestSlot = Number.NEGATIVE_INFINITY;
  #scoredSlots = 0;

  constructor(rule: ScoreRule, rollingSteps: number, place: Place = placeAlone(8 * rule.sumCount)) {
    this.rule = rule;
    this.#rollingSteps = rollingSteps;
    this.#doubles = place.block.doubles;
    this.#at = place.at / 8;
  }

  /** The sums of all slots, each weighted by exp(−age/rollingSteps). Stored as they are. */
  get sums(): Float64Array {
    return this.#doubles.subarray(this.#at, this.#at + this.rule.sumCount);
  }

  /** The newest slot scored, from which ages are counted; −Infinity when none was scored. */
  get newestSlot(): number {
    return this.#newestSlot;
  }

  get scoredSlots(): number {
    return this.#scoredSlots;
  }

  /** Adds the sums of a slot that was observed for the first time. */
  add(slotSums: Float64Array, slot: number): void {
    if (slot > this.#newestSlot) this.#moveTo(slot);
    const weight = this.#weightOf(slot);
    for (let i = 0; i < slotSums.length; i++) this.#doubles[this.#at + i] += weight * slotSums[i];
    this.#scoredSlots++;
  }

  /** Replaces the sums of a slot whose value has changed. */
  replace(was: Float64Array, is: Float64Array, slot: number): void {
    const weight = this.#weightOf(slot);
    for (let i = 0; i < is.length; i++) this.#doubles[this.#at + i] += weight * (is[i] - was[i]);
  }

  /** Null until a slot is scored. */
  scores(): LiveScores | null {
    if (this.#scoredSlots === 0) return null;
    const { intervals } = this.rule;
    const coverage = intervals.map(({ stated }, i) => ({ stated, observed: this.#mean(INSIDE + i) }));
    return { mase: this.mase, crps: this.#mean(CRPS), coverage, scoredSteps: this.#scoredSlots };
  }

  /** Writes MASE, CRPS over the naive error, and the coverage of each interval. False when one of them is not finite. */
  writeMeans(target: Float64Array, naiveError: number): boolean {
    target[0] = this.mase;
    target[1] = this.#mean(CRPS) / naiveError;
    for (let i = 0; i < this.rule.intervals.length; i++) target[2 + i] = this.#mean(INSIDE + i);
    return this.#scoredSlots > 0 && Number.isFinite(target[0] + target[1]);
  }

  /** Mean absolute error of the median over the naive error. NaN until a slot is scored, like `cappedMase`. */
  get mase(): number {
    return this.#mean(ABSOLUTE);
  }

  /** The MASE with the error of each slot capped, so that one shock does not raise it for long. */
  get cappedMase(): number {
    return this.#mean(CAPPED);
  }

  /** Continues from stored sums. */
  load(stored: {
    readonly sums: Float64Array;
    readonly newestSlot: number;
    readonly scoredSlots: number;
  }): void {
    this.sums.set(stored.sums);
    this.#scoredSlots = stored.scoredSlots;
    this.#newestSlot = stored.scoredSlots === 0 ? Number.NEGATIVE_INFINITY : stored.newestSlot;
  }

  #moveTo(slot: number): void {
    if (this.#scoredSlots > 0) {
      const fading = Math.exp((this.#newestSlot - slot) / this.#rollingSteps);
      for (let i = 0; i < this.rule.sumCount; i++) this.#doubles[this.#at + i] *= fading;
    }
    this.#newestSlot = slot;
  }

  #weightOf(slot: number): number {
    return slot === this.#newestSlot ? 1 : Math.exp((slot - this.#newestSlot) / this.#rollingSteps);
  }

  /** A replaced value may leave a sum of zeros a rounding error below zero. */
  #mean(index: number): number {
    return Math.max(0, this.#doubles[this.#at + index] / this.#doubles[this.#at + STEPS]);
  }
}
