// Assembles a model from trained candidates: which of them, with what shares, and how much the mixture is widened. The best
// candidate of a validation is partly luck, so shares move towards what validates best together, and a penalty keeps them
// near equal.
//
// Legend: w the shares, a and B as in `held-out.ts`, n candidates, s the CRPS of the best candidate alone.
//   minimise  CRPS(w)/s + penalty · Σ w_i·log(n·w_i)   over w ≥ 0, Σw = 1, by exponentiated gradients

import { stepsOf } from "../../folds.ts";
import {
  distanceBetween,
  distanceToActual,
  type HeldOutForecasts,
  sampleCount,
  sampleLevels,
} from "../../held-out.ts";
import { ScoreSheet, scoreLevels } from "../../scores.ts";
import type { ForecastNetModel } from "../model.ts";
import type { CandidatesRequest, TrainedCandidate } from "./candidates-request.ts";
import { fitScalers } from "./training-rows.ts";

const penalty = 0.1;
const iterations = 400;
const rate = 0.5;
/** Most additions to the pool per candidate; then it stays as it is, though it has fewer members than allowed. */
const turns = 4;

export interface Distances {
  readonly a: Float64Array;
  /** [i][j] */
  readonly b: Float64Array;
}

export function distancesOf(candidates: readonly HeldOutForecasts[]): Distances {
  const n = candidates.length;
  const a = Float64Array.from(candidates, distanceToActual);
  const b = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      // Both ways, since each uses other samples.
      const distance =
        (distanceBetween(candidates[i], candidates[j]) + distanceBetween(candidates[j], candidates[i])) / 2;
      b[i * n + j] = distance;
      b[j * n + i] = distance;
    }
  }
  return { a, b };
}

/** At most `most` candidates have a share above zero. */
export function chooseShares(distances: Distances, most: number): Float64Array {
  return weigh(distances, chooseMembers(distances, most));
}

export function mixtureCrps({ a, b }: Distances, shares: Float64Array): number {
  let crps = 0;
  for (const [i, share] of shares.entries()) {
    crps += share * a[i];
    for (const [j, other] of shares.entries()) crps -= 0.5 * share * other * b[i * a.length + j];
  }
  return crps;
}

/**
 * Greedy: adds the candidate that makes the pool of equal shares best. A candidate may be added again; it then weighs more
 * when the next one is chosen, which gives better pools than single additions.
 */
function chooseMembers({ a, b }: Distances, most: number): readonly number[] {
  const pool: number[] = [];
  const members = new Set<number>();
  const longest = turns * a.length;
  while (members.size < Math.min(most, a.length) && pool.length < longest) {
    let best = { crps: Number.POSITIVE_INFINITY, candidate: 0 };
    for (const candidate of a.keys()) {
      const crps = poolCrps({ a, b }, [...pool, candidate]);
      if (crps < best.crps) best = { crps, candidate };
    }
    pool.push(best.candidate);
    members.add(best.candidate);
  }
  return [...members];
}

/** CRPS of a pool with equal shares. */
function poolCrps({ a, b }: Distances, pool: readonly number[]): number {
  const share = 1 / pool.length;
  let crps = 0;
  for (const i of pool) {
    crps += share * a[i];
    for (const j of pool) crps -= 0.5 * share * share * b[i * a.length + j];
  }
  return crps;
}

function weigh({ a, b }: Distances, members: readonly number[]): Float64Array {
  const n = members.length;
  const best = Math.min(...members.map((i) => a[i] - 0.5 * b[i * a.length + i]));
  const scale = best > 0 ? best : 1;
  let w = new Float64Array(n).fill(1 / n);
  for (let turn = 0; turn < iterations; turn++) {
    const slope = w.map((share, k) => {
      const i = members[k];
      let pull = a[i];
      for (let m = 0; m < n; m++) pull -= w[m] * b[i * a.length + members[m]];
      return pull / scale + penalty * (Math.log(Math.max(share * n, 1e-12)) + 1);
    });
    const mean = slope.reduce((sum, one, k) => sum + one * w[k], 0);
    w = w.map((share, k) => share * Math.exp(-rate * (slope[k] - mean)));
    const total = w.reduce((sum, share) => sum + share, 0);
    w = w.map((share) => share / total);
  }
  const shares = new Float64Array(a.length);
  for (const [k, i] of members.entries()) shares[i] = w[k];
  return shares;
}

const widths = Array.from({ length: 19 }, (_, i) => (14 + i) / 20);

/** Quantiles of the pooled samples at ascending levels, [point][level]. */
export function poolQuantiles(
  members: readonly HeldOutForecasts[],
  shares: readonly number[],
  levels = scoreLevels,
): Float64Array[] {
  const merged = new MergedSamples(members, shares);
  return Array.from({ length: members[0].actual.length }, (_, p) => {
    merged.begin(p);
    return quantilesOf(merged, levels);
  });
}

/** The samples of all members at one point, by ascending value. The samples of a member ascend, so they need not be sorted. */
class MergedSamples {
  readonly count: number;
  value = 0;
  /** Of the sample `value`. */
  weight = 0;
  readonly #members: readonly HeldOutForecasts[];
  readonly #weights: readonly number[];
  /** Of each member. */
  readonly #next: Int32Array;
  /** Where the samples of the point end. */
  #end = 0;

  constructor(members: readonly HeldOutForecasts[], shares: readonly number[]) {
    this.count = members.length * sampleCount;
    this.#members = members;
    this.#weights = shares.map((share) => share / sampleCount);
    this.#next = new Int32Array(members.length);
  }

  begin(point: number): void {
    this.#next.fill(point * sampleCount);
    this.#end = (point + 1) * sampleCount;
  }

  /** Moves to the next sample; not to be called more often than there are samples. */
  step(): void {
    let least = -1;
    for (let m = 0; m < this.#next.length; m++) {
      if (this.#next[m] === this.#end) continue;
      const value = this.#members[m].samples[this.#next[m]];
      if (least >= 0 && value >= this.value) continue;
      least = m;
      this.value = value;
    }
    this.weight = this.#weights[least];
    this.#next[least]++;
  }
}

/** Each sample is at the middle of its weight; quantiles between two samples are linear. */
function quantilesOf(samples: MergedSamples, levels: readonly number[]): Float64Array {
  const quantiles = new Float64Array(levels.length);
  let below = 0;
  let level = 0;
  let atBefore = Number.NEGATIVE_INFINITY;
  let valueBefore = 0;
  for (let i = 0; i < samples.count; i++) {
    samples.step();
    const { value, weight } = samples;
    const at = below + weight / 2;
    while (level < levels.length && levels[level] <= at) {
      const share = (levels[level] - atBefore) / (at - atBefore);
      quantiles[level++] = i === 0 ? value : valueBefore + share * (value - valueBefore);
    }
    atBefore = at;
    valueBefore = value;
    below += weight;
  }
  while (level < levels.length) quantiles[level++] = valueBefore;
  return quantiles;
}

export function scorePooled(quantiles: readonly Float64Array[], actual: Float64Array, width = 1): ScoreSheet {
  const sheet = new ScoreSheet(scoreLevels);
  const median = (scoreLevels.length - 1) / 2;
  const widened = new Float64Array(scoreLevels.length);
  for (const [p, own] of quantiles.entries()) {
    for (let l = 0; l < widened.length; l++) widened[l] = own[median] + width * (own[l] - own[median]);
    sheet.add(actual[p], widened);
  }
  return sheet;
}

/**
 * The factor with the best CRPS by which to widen the mixture around its median. The CRPS is convex in the factor, so the search
 * goes from 1 downhill.
 */
export function chooseWidth(quantiles: readonly Float64Array[], actual: Float64Array): number {
  const crpsAt = (i: number) =>
    widths[i] === undefined ? Number.POSITIVE_INFINITY : scorePooled(quantiles, actual, widths[i]).crps(1);
  let at = widths.indexOf(1);
  let least = crpsAt(at);
  for (const direction of [-1, 1]) {
    for (let next = crpsAt(at + direction); next < least; next = crpsAt(at + direction)) {
      at += direction;
      least = next;
    }
  }
  return widths[at];
}

/** The mixture of the members, widened around its median. */
function widenPool(
  members: readonly HeldOutForecasts[],
  shares: readonly number[],
  width: number,
): HeldOutForecasts {
  const samples = new Float64Array(members[0].samples.length);
  for (const [p, own] of poolQuantiles(members, shares, sampleLevels).entries()) {
    const median = (own[sampleCount / 2 - 1] + own[sampleCount / 2]) / 2;
    for (let k = 0; k < sampleCount; k++) samples[p * sampleCount + k] = median + width * (own[k] - median);
  }
  return { ...members[0], samples };
}

export interface Assembly {
  readonly key: string;
  readonly version: string;
  /** Most members; each takes memory and a share of the sample paths. */
  readonly members: number;
}

export interface ValidatedModel {
  readonly model: ForecastNetModel;
  /** Of the model before its nets had been trained on the folds. */
  readonly heldOut: HeldOutForecasts;
  /** Scores of these forecasts, each series and channel in units of its naive error. */
  readonly validation: {
    readonly mase: number;
    readonly crps: number;
    readonly coverage80: number;
    readonly points: number;
  };
}

/** The request is that which the candidates were trained for. */
export function assembleModel(
  { specs: [spec], series }: Pick<CandidatesRequest, "specs" | "series">,
  candidates: readonly TrainedCandidate[],
  { key, version, members: most }: Assembly,
): ValidatedModel {
  const shares = chooseShares(distancesOf(candidates.map(({ forecasts }) => forecasts)), most);
  const chosen = candidates
    .map((candidate, i) => ({ ...candidate, share: shares[i] }))
    .filter(({ share }) => share > 0);
  const forecasts = chosen.map((candidate) => candidate.forecasts);
  const ownShares = chosen.map(({ share }) => share);
  const { actual } = forecasts[0];
  const quantiles = poolQuantiles(forecasts, ownShares);
  const width = chooseWidth(quantiles, actual);
  const sheet = scorePooled(quantiles, actual, width);
  const { channels, targets, horizon } = spec;
  const ends = series.map((one) => stepsOf(one, channels));
  return {
    model: {
      family: "forecastnet",
      key,
      version,
      scaler: fitScalers(series, spec, ends).served,
      members: chosen.map(({ spec, weights, share, residuals }) => ({ spec, weights, share, residuals })),
      spread: new Float32Array(targets.length * horizon).fill(width),
    },
    heldOut: widenPool(forecasts, ownShares, width),
    // The forecasts are in units of naive errors already.
    validation: {
      mase: sheet.mase(1),
      crps: sheet.crps(1),
      coverage80: sheet.coverage80,
      points: sheet.steps,
    },
  };
}
