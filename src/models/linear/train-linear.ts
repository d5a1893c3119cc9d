// Trains linear models. A pool of maps, from windows of several lengths to the steps ahead, is fitted in closed form to the first
// part of a history and judged on what follows, fold by fold. The model is their average, weighted by how well they
// forecast; the average of linear maps is a linear map.
//
// Legend: z values in units of the scaler; m outputs (steps × channels) of a map.

import { yieldToEventLoop } from "../../runtime/waiting.ts";
import type { FamilyTask, FoldScores, Scaler, TrainingSeries } from "../family.ts";
import {
  type Fold,
  type FoldReach,
  firstRollingPart,
  foldsOf,
  hasTwoFolds,
  rollingFolds,
  stepsOf,
} from "../folds.ts";
import type { HeldOutForecasts } from "../held-out.ts";
import { type AffineMap, applyMap, averageMap } from "../regression/affine-map.ts";
import { fitScaler, scaleValues, sharedScaler } from "../scaler.ts";
import { type Candidate, Candidates, leastSteps, lengthsFor, shortestWindow } from "./candidates.ts";
import type { ErrorModel } from "./error-model.ts";
import { FoldErrors } from "./fold-errors.ts";

export interface LinearFit {
  readonly scaler: Scaler;
  readonly map: AffineMap;
  readonly errors: ErrorModel;
  readonly folds: FoldScores;
  readonly heldOut: HeldOutForecasts | null;
}

/** Only so many of the best candidates enter the average. */
const poolSize = 40;
/**
 * The share of a candidate falls with its error to the power of this × √(spans of τ steps judged): the less there was to judge by,
 * the more alike the shares.
 */
const sharpness = 3;
/** The average counts as so many maps when single ones are added to it. */
const mapsInAverage = 16;
/** Most maps that are added: one for every fourth span judged, but no more than this. */
const mostAdded = 8;
/** A map is added if the error falls by more than this share. */
const leastGain = 1e-4;
/** Candidates with a smaller share are left out: they would only cost time. */
const leastShare = 0.01;

/** The best average of maps; as text, why there is none; null when cancelled. */
export async function fitLinear(task: FamilyTask, signal: AbortSignal): Promise<LinearFit | string | null> {
  const empty = task.series.findIndex(({ values }) => !values.some(Number.isFinite));
  if (empty >= 0) return `series ${empty} has no value; every one needs some`;
  const lengths = lengthsFor(task);
  if (lengths.length === 0) return whyNoWindow(task);
  const pool = new CandidatePool(task, lengths);
  if (pool.items === 0) return "the history has no observed steps to score on";
  for (const fold of pool.folds) {
    for (const length of lengths) {
      pool.judge(fold, length);
      await yieldToEventLoop();
      if (signal.aborted) return null;
    }
  }
  return pool.best();
}

function whyNoWindow({ plan: { horizon, season }, channels, series }: FamilyTask): string {
  const longest = Math.max(...series.map((one) => stepsOf(one, channels)));
  const needed = leastSteps(horizon, season);
  if (longest < needed) return `the longest history has ${longest} steps; ${needed} are needed`;
  const unbroken = shortestWindow(horizon, season) + horizon;
  const run = Math.max(...series.map((one) => longestRun(one, channels)));
  const part = `the last ${100 * (1 - firstRollingPart)} % of the history`;
  return `the longest run without a gap that reaches into ${part} has ${run} steps; ${unbroken} are needed, ${horizon} of them there`;
}

/** Steps of the longest run without a gap that ends after the part that only trains. */
function longestRun(series: TrainingSeries, channels: number): number {
  const steps = stepsOf(series, channels);
  let run = 0;
  let longest = 0;
  for (let step = 0; step < steps; step++) {
    const isKnown = series.values.subarray(step * channels, (step + 1) * channels).every(Number.isFinite);
    run = isKnown ? run + 1 : 0;
    if (step >= firstRollingPart * steps) longest = Math.max(longest, run);
  }
  return longest;
}

interface Judged {
  readonly candidate: Candidate;
  /** [origin][output] */
  readonly forecasts: Float64Array;
  folds: number;
}

interface Chosen {
  readonly shareByName: ReadonlyMap<string, number>;
  /** [origin][output] */
  readonly forecasts: Float64Array;
  /** Steps of the longest window. */
  readonly length: number;
}

/** The candidates of one history, and what they forecast at the origins of the folds. */
class CandidatePool {
  readonly folds: readonly Fold[];
  readonly #task: FamilyTask;
  readonly #lengths: readonly number[];
  readonly #candidates: Candidates;
  readonly #scalers: readonly Scaler[];
  readonly #scaled: readonly Float64Array[];
  readonly #errors: FoldErrors;
  readonly #judgedByName = new Map<string, Judged>();

  constructor(task: FamilyTask, lengths: readonly number[]) {
    const { series, channels, plan } = task;
    this.#task = task;
    this.#lengths = lengths;
    this.#scalers = series.map((one) => fitScaler(one.values, channels, stepsOf(one, channels)));
    this.#scaled = series.map(({ values }, s) => scaleValues(values, this.#scalers[s]));
    this.#candidates = new Candidates(task, lengths, this.#scaled);
    this.folds = rollingFolds(series, { horizon: plan.horizon, channels, longest: Math.max(...lengths) });
    this.#errors = this.#errorsAt(this.folds);
  }

  get items(): number {
    return this.#errors.scored.length;
  }

  get #outputs(): number {
    return this.#task.plan.horizon * this.#task.channels;
  }

  #errorsAt(folds: readonly Fold[]): FoldErrors {
    return new FoldErrors(this.#task, { scaled: this.#scaled, scalers: this.#scalers, folds });
  }

  /** Fits all candidates of this window length on the first part of the fold, and forecasts the origins of the fold. */
  judge(fold: Fold, length: number): void {
    for (const { candidate, map } of this.#candidates.fitAll(length, fold.trainTo)) {
      const name = JSON.stringify(candidate);
      let judged = this.#judgedByName.get(name);
      if (judged === undefined) {
        judged = { candidate, forecasts: new Float64Array(this.#errors.actual.length), folds: 0 };
        this.#judgedByName.set(name, judged);
      }
      this.#forecast(this.folds, fold, map, judged.forecasts);
      judged.folds++;
    }
  }

  #forecast(folds: readonly Fold[], fold: Fold, map: AffineMap, into: Float64Array): void {
    const m = this.#outputs;
    let at = 0;
    for (const before of folds.slice(0, folds.indexOf(fold))) at += m * before.origins.length;
    for (const { series, step } of fold.origins) {
      applyMap(map, this.#scaled[series], step * this.#task.channels, { into, at });
      at += m;
    }
  }

  best(): LinearFit | string {
    const chosen = this.#choose();
    if (chosen === null) return "no candidate gives finite forecasts";
    const { series, channels } = this.#task;
    const { model, scores, heldOut } = this.#errors.judge(chosen.forecasts, chosen.length);
    return {
      scaler: series.length > 1 ? sharedScaler(this.#scalers) : this.#scalers[0],
      map: this.#averageBefore(
        chosen,
        series.map((one) => stepsOf(one, channels)),
      ),
      errors: model,
      folds: scores,
      heldOut: hasTwoFolds(series, this.#reach(chosen)) ? heldOut : this.#heldOut(chosen),
    };
  }

  /** The shares of the best candidates in the average; null when none has finite forecasts. */
  #choose(): Chosen | null {
    const errors = this.#errors;
    const pool = [...this.#judgedByName.values()]
      // The first fold may have had too few rows for some.
      .filter(({ folds }) => folds === this.folds.length)
      .map((judged) => ({ ...judged, error: errors.absoluteError(judged.forecasts) }))
      .filter(({ error }) => Number.isFinite(error))
      .sort((one, other) => one.error - other.error)
      .slice(0, poolSize);
    if (pool.length === 0) return null;
    const power = sharpness * Math.sqrt(errors.spans);
    const shares = pool.map(({ error }) => (error > 0 ? (pool[0].error / error) ** power : 1));
    const total = shares.reduce((sum, share) => sum + share, 0);
    for (const i of shares.keys()) shares[i] /= total;
    this.#addSingle(pool, shares);
    const kept = pool
      .map((judged, i) => ({ ...judged, share: shares[i] }))
      .filter(({ share }) => share > leastShare);
    const keptShare = kept.reduce((sum, { share }) => sum + share, 0);
    return {
      shareByName: new Map(
        kept.map(({ candidate, share }) => [JSON.stringify(candidate), share / keptShare]),
      ),
      forecasts: weightedMean(kept),
      length: Math.max(...kept.map(({ candidate }) => candidate.length)),
    };
  }

  /** Adds to the average, again and again, the candidate that improves it most: those that complement the others gain. */
  #addSingle(pool: readonly Judged[], shares: number[]): void {
    const errors = this.#errors;
    let average = weightedMean(pool.map(({ forecasts }, i) => ({ forecasts, share: shares[i] })));
    let least = errors.absoluteError(average);
    const most = Math.min(mostAdded, Math.floor(errors.spans / 4));
    for (let added = 0; added < most; added++) {
      const share = 1 / (mapsInAverage + added + 1);
      const found = pool.map(({ forecasts }) => errors.absoluteError(average, forecasts, share));
      const error = Math.min(...found);
      if (!(error < least * (1 - leastGain))) return;
      least = error;
      const best = found.indexOf(error);
      const { forecasts } = pool[best];
      average = average.map((mean, i) => mean + share * (forecasts[i] - mean));
      for (const i of shares.keys()) shares[i] *= 1 - share;
      shares[best] += share;
    }
  }

  /** The chosen average, fitted to the steps before `ends`. */
  #averageBefore({ shareByName }: Chosen, ends: readonly number[]): AffineMap {
    const maps: { readonly map: AffineMap; readonly share: number }[] = [];
    const shareOf = (candidate: Candidate) => shareByName.get(JSON.stringify(candidate)) ?? 0;
    for (const length of this.#lengths) {
      for (const { candidate, map } of this.#candidates.fitAll(length, ends, (one) => shareOf(one) > 0))
        maps.push({ map, share: shareOf(candidate) });
    }
    return averageMap(maps);
  }

  #reach({ length }: Chosen): FoldReach {
    return { horizon: this.#task.plan.horizon, channels: this.#task.channels, longest: length };
  }

  /** Forecasts of the average at the origins that families have in common; null when the history is too short for them. */
  #heldOut(chosen: Chosen): HeldOutForecasts | null {
    const folds = foldsOf(this.#task.series, this.#reach(chosen));
    if (folds.some(({ origins }) => origins.length === 0)) return null;
    const errors = this.#errorsAt(folds);
    const forecasts = new Float64Array(errors.actual.length);
    for (const fold of folds)
      this.#forecast(folds, fold, this.#averageBefore(chosen, fold.trainTo), forecasts);
    return errors.judge(forecasts, chosen.length).heldOut;
  }
}

function weightedMean(
  parts: readonly { readonly forecasts: Float64Array; readonly share: number }[],
): Float64Array {
  const mean = new Float64Array(parts[0].forecasts.length);
  const total = parts.reduce((sum, { share }) => sum + share, 0);
  for (const { forecasts, share } of parts)
    for (let i = 0; i < mean.length; i++) mean[i] += (share / total) * forecasts[i];
  return mean;
}
