// The seasons of a series: which ones its calendar offers, which of them its past confirms, and which one seasonal naive
// had best repeat. Pure functions of the values, so that the same past gives the same seasons on any machine.
//
// A candidate is confirmed by autocorrelation, the shortest first. Before each test the level is taken out (a moving
// average as long as the candidate) and so are the profiles of the seasons found already: what is left of a series with
// days correlates after a week only if its weekdays differ. Outliers are cut, gaps are left out.

import type { SeriesSettings } from "../domain.ts";
import type { Interval } from "./interval.ts";

const DAY = 86_400_000;
const WEEK = 7 * DAY;
const DAYS_A_YEAR = 365.25;

/** A candidate is tested when the past has as many of its periods. */
export const PERIODS_TO_DECIDE = 3;

/** Values above this level of a standard normal are one in twenty: the usual strictness of such a test. */
const SIGNIFICANT = 1.645;
/** A season that explains less than this share of the variance is of no use, however sure it is. */
const LEAST_CORRELATION = 0.1;
/** Of the correlations before the candidate, about as many are computed as this. */
const LAGS_SAMPLED = 32;
/** Share of the others' differences below which a season is clearly better than they are. */
const BETTER = 0.95;

export interface PastValues {
  /** Oldest first, channels of a step side by side, NaN in a gap. */
  readonly values: Float64Array;
  readonly channels: number;
}

/** The season that seasonal naive repeats. */
export function naiveSeasonOf(settings: Pick<SeriesSettings, "season" | "naiveSeason">): number {
  return settings.naiveSeason ?? settings.season;
}

const candidatesByIso = new Map<string, readonly number[]>();

/** Steps in a day, a week and a year where they are whole numbers, ascending; a year of days or weeks is rounded. */
export function calendarSeasons(interval: Interval): readonly number[] {
  let candidates = candidatesByIso.get(interval.iso);
  if (candidates === undefined) {
    const { stepMs, months } = interval;
    const lengths = months > 0 ? [12 / months] : [DAY / stepMs, WEEK / stepMs];
    // The drift of a rounded year against the calendar matters less, the more steps it has.
    if (months === 0 && stepMs >= DAY) lengths.push(Math.round((DAYS_A_YEAR * DAY) / stepMs));
    candidates = Object.freeze(lengths.filter((steps) => Number.isInteger(steps) && steps >= 2));
    candidatesByIso.set(interval.iso, candidates);
  }
  return candidates;
}

/** The candidates that the past confirms. `candidates` ascend, and the past has at least three periods of each. */
export function confirmSeasons(past: PastValues, candidates: readonly number[]): readonly number[] {
  // Once before the level is taken, which an outlier would move, and once after, when smaller ones show.
  let rest = channelsOf(past).map(cutOutliers);
  const confirmed: number[] = [];
  for (const season of candidates) {
    const deviations = rest.map((values) => cutOutliers(withoutLevel(values, season)));
    if (!isConfirmed(deviations, season)) continue;
    confirmed.push(season);
    rest = rest.map((values, c) => withoutProfile(values, deviations[c], season));
  }
  return confirmed;
}

/**
 * The season after which the values repeat best, by their mean absolute differences over the same steps. Of `seasons`, at
 * least one, each must be clearly better than those before it.
 */
export function bestToRepeat({ values, channels }: PastValues, seasons: readonly number[]): number {
  const from = Math.max(...seasons) * channels;
  let best = seasons[0];
  let least = Number.POSITIVE_INFINITY;
  for (const season of seasons) {
    let sum = 0;
    let count = 0;
    for (let i = from; i < values.length; i++) {
      // Only where every season has a value to repeat: the sums are over the same steps.
      if (!seasons.every((other) => !Number.isNaN(values[i - other * channels]))) continue;
      const difference = Math.abs(values[i] - values[i - season * channels]);
      if (Number.isNaN(difference)) continue;
      sum += difference;
      count++;
    }
    if (count > 0 && sum < BETTER * least) [best, least] = [season, sum];
  }
  return best;
}

function channelsOf({ values, channels }: PastValues): Float64Array[] {
  const steps = values.length / channels;
  return Array.from({ length: channels }, (_, c) =>
    Float64Array.from({ length: steps }, (_, t) => values[t * channels + c]),
  );
}

/** What remains of the values without a centred moving average over one period; near the ends, the nearest full one. */
function withoutLevel(values: Float64Array, period: number): Float64Array {
  const steps = values.length;
  const sums = new Float64Array(steps + 1);
  const counts = new Float64Array(steps + 1);
  for (let t = 0; t < steps; t++) {
    const isKnown = !Number.isNaN(values[t]);
    sums[t + 1] = sums[t] + (isKnown ? values[t] : 0);
    counts[t + 1] = counts[t] + (isKnown ? 1 : 0);
  }
  // An even period has no centre: the mean of the two windows around it, as is usual.
  const left = period >> 1;
  const over = (prefix: Float64Array, centre: number) => {
    const first = centre - left;
    const one = prefix[first + period] - prefix[first];
    return period % 2 === 1 ? one : (one + prefix[first + period + 1] - prefix[first + 1]) / 2;
  };
  const lastCentre = steps - 1 - left;
  return values.map((value, t) => {
    const centre = Math.max(left, Math.min(lastCentre, t));
    const known = over(counts, centre);
    return known < period / 2 ? Number.NaN : value - over(sums, centre) / known;
  });
}

/** The values between the bulk's ends, some widths from its median; in units of a width. All zero for a flat series. */
function cutOutliers(values: Float64Array): Float64Array {
  const known = values.filter((value) => !Number.isNaN(value)).sort();
  const median = known[known.length >> 1] ?? 0;
  const sizes = known.map((value) => Math.abs(value - median)).sort();
  const at = (level: number) => sizes[Math.floor(level * (sizes.length - 1))] ?? 0;
  // Most values of an intermittent series are alike: then the width is that of the others.
  const width = 4.5 * at(0.5) || 3 * at(0.9) || at(0.98) || at(1);
  if (width === 0) return values.map((value) => value * 0);
  return values.map((value) => Math.max(-1, Math.min(1, (value - median) / width)));
}

/**
 * True when the correlation after a season exceeds what a series may show that remembers only steps more recent than
 * that (Bartlett's formula for the variance of the estimate).
 */
function isConfirmed(deviations: readonly Float64Array[], season: number): boolean {
  const { correlation, pairs } = correlationAfter(deviations, season);
  if (!(correlation >= LEAST_CORRELATION)) return false;
  const stride = Math.ceil((season - 1) / LAGS_SAMPLED);
  let squares = 0;
  for (let lag = 1; lag < season; lag += stride) {
    squares += stride * correlationAfter(deviations, lag).correlation ** 2;
  }
  return correlation > SIGNIFICANT * Math.sqrt((1 + 2 * squares) / pairs);
}

/** Over all channels together. `pairs` counts the steps. */
function correlationAfter(
  deviations: readonly Float64Array[],
  lag: number,
): { readonly correlation: number; readonly pairs: number } {
  let products = 0;
  let pairs = 0;
  let squares = 0;
  let known = 0;
  for (const values of deviations) {
    for (let t = 0; t < values.length; t++) {
      const value = values[t];
      if (Number.isNaN(value)) continue;
      squares += value * value;
      known++;
      const earlier = t >= lag ? values[t - lag] : Number.NaN;
      if (Number.isNaN(earlier)) continue;
      products += value * earlier;
      pairs++;
    }
  }
  const correlation = squares > 0 && pairs > 0 ? products / pairs / (squares / known) : 0;
  return { correlation, pairs: pairs / deviations.length };
}

/** Takes the mean deviation of each phase out of the values. */
function withoutProfile(values: Float64Array, deviations: Float64Array, season: number): Float64Array {
  const sums = new Float64Array(season);
  const counts = new Float64Array(season);
  const raw = withoutLevel(values, season);
  for (let t = 0; t < values.length; t++) {
    // A cut value is an outlier, and no part of the profile.
    if (Number.isNaN(deviations[t]) || Math.abs(deviations[t]) === 1) continue;
    sums[t % season] += raw[t];
    counts[t % season]++;
  }
  return values.map(
    (value, t) => value - (counts[t % season] > 0 ? sums[t % season] / counts[t % season] : 0),
  );
}
