// Trains linear models. A pool of maps, from windows of several lengths to the steps ahead, is fitted in closed form to the first
// part of a history and judged on what follows, fold by fold. The maps that forecast best together are averaged; the average
// of linear maps is a linear map.
//
// Legend: z values in units of the scaler; p inputs, m outputs (steps × channels) of a map. An item is one output of one origin.

import { yieldToEventLoop } from "../../runtime/waiting.ts";
import type { FamilyTask, FoldScores, Scaler } from "../family.ts";
import { type Fold, firstRollingPart, isFilled, measureSeries, rollingFolds, stepsOf } from "../folds.ts";
import type { Origin } from "../held-out.ts";
import { type AffineMap, averageMap } from "../regression/affine-map.ts";
import { dot } from "../regression/cholesky.ts";
import { fitScaler } from "../scaler.ts";
import { ScoreSheet, scoreLevels } from "../scores.ts";
import { type Candidate, Candidates, leastSteps, lengthsFor, shortestWindow } from "./candidates.ts";
import { type ErrorShape, errorShapeOf, quantileOf } from "./error-shape.ts";

export interface LinearFit {
  readonly scaler: Scaler;
  readonly map: AffineMap;
  readonly errors: ErrorShape;
  readonly folds: FoldScores;
}

/** Maps in the average, with repetition. */
const mostMembers = 8;
/** Only so many of the best candidates are tried in the average. */
const poolSize = 40;
/** A map joins the average if the error falls by more than this share. */
const leastGain = 1e-4;

/** The best average of maps; as text, why there is none; null when cancelled. */
export async function fitLinear(task: FamilyTask, signal: AbortSignal): Promise<LinearFit | string | null> {
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
  return `the last ${100 * (1 - firstRollingPart)} % of the history have no ${unbroken} steps without a gap`;
}

interface Judged {
  readonly candidate: Candidate;
  /** One per item. */
  readonly forecasts: Float64Array;
  folds: number;
}

/** The candidates of one history, and what they forecast at the origins of the folds. */
class CandidatePool {
  readonly folds: readonly Fold[];
  readonly #task: FamilyTask;
  readonly #candidates: Candidates;
  readonly #scalers: readonly Scaler[];
  readonly #scaled: readonly Float64Array[];
  readonly #origins: readonly Origin[];
  readonly #actual: Float64Array;
  /** Items that were observed: only those are scored. */
  readonly #scored: Int32Array;
  readonly #judged = new Map<string, Judged>();

  constructor(task: FamilyTask, lengths: readonly number[]) {
    const { series, channels, plan } = task;
    this.#task = task;
    this.#scalers = series.map((one) => fitScaler(one.values, channels, stepsOf(one, channels)));
    this.#scaled = series.map(({ values }, s) => scaleValues(values, this.#scalers[s]));
    this.#candidates = new Candidates(task, lengths, this.#scaled);
    this.folds = rollingFolds(series, { horizon: plan.horizon, channels, longest: Math.max(...lengths) });
    this.#origins = this.folds.flatMap((fold) => fold.origins);
    const m = this.#outputs;
    this.#actual = new Float64Array(this.#origins.length * m);
    const scored: number[] = [];
    for (const [i, { series: s, step }] of this.#origins.entries()) {
      this.#actual.set(this.#scaled[s].subarray(step * channels, step * channels + m), i * m);
      for (let o = 0; o < m; o++)
        if (!isFilled(series[s], step + Math.floor(o / channels))) scored.push(i * m + o);
    }
    this.#scored = Int32Array.from(scored);
  }

  get items(): number {
    return this.#scored.length;
  }

  get #outputs(): number {
    return this.#task.plan.horizon * this.#task.channels;
  }

  get #isCohort(): boolean {
    return this.#task.series.length > 1;
  }

  /** Fits all candidates of this window length on the first part of the fold, and forecasts the origins of the fold. */
  judge(fold: Fold, length: number): void {
    for (const { candidate, map } of this.#candidates.fitAll(length, fold.trainTo)) {
      const name = JSON.stringify(candidate);
      const judged = this.#judged.get(name) ?? {
        candidate,
        forecasts: new Float64Array(this.#actual.length),
        folds: 0,
      };
      this.#judged.set(name, judged);
      this.#forecast(fold, map, judged.forecasts);
      judged.folds++;
    }
  }

  #forecast(fold: Fold, { weights, constant }: AffineMap, forecasts: Float64Array): void {
    const { channels } = this.#task;
    const m = this.#outputs;
    const p = weights.length / m;
    let item = m * this.#origins.indexOf(fold.origins[0]);
    for (const { series, step } of fold.origins) {
      const values = this.#scaled[series];
      for (let o = 0; o < m; o++) {
        forecasts[item++] = constant[o] + dot(weights, o * p, values, step * channels - p, p);
      }
    }
  }

  /** Adds to the average, again and again, the candidate that improves it most. */
  best(): LinearFit | string {
    const pool = [...this.#judged.values()]
      // The first fold may have had too few rows for some.
      .filter(({ folds }) => folds === this.folds.length)
      .map((judged) => ({ ...judged, error: this.#errorOf(judged.forecasts) }))
      .filter(({ error }) => Number.isFinite(error))
      .sort((one, other) => one.error - other.error)
      .slice(0, poolSize);
    const members: Candidate[] = [];
    let average = new Float64Array(this.#actual.length);
    let least = Number.POSITIVE_INFINITY;
    while (members.length < mostMembers) {
      const errors = pool.map(({ forecasts }) => this.#errorOf(forecasts, average, members.length));
      const error = Math.min(...errors);
      if (!(error < least * (1 - leastGain))) break;
      least = error;
      const { candidate, forecasts } = pool[errors.indexOf(error)];
      const count = members.push(candidate);
      average = average.map((mean, i) => mean + (forecasts[i] - mean) / count);
    }
    if (members.length === 0) return "no candidate gives finite forecasts";
    return this.#finish(members, average);
  }

  /** Sum of absolute errors of the forecasts, averaged with `count` others. */
  #errorOf(forecasts: Float64Array, average = forecasts, count = 0): number {
    const scored = this.#scored;
    const actual = this.#actual;
    let sum = 0;
    for (let k = 0; k < scored.length; k++) {
      const i = scored[k];
      sum += Math.abs(actual[i] - average[i] - (forecasts[i] - average[i]) / (count + 1));
    }
    return sum;
  }

  /** Fits the members to the whole history. */
  #finish(members: readonly Candidate[], average: Float64Array): LinearFit {
    const { series, channels } = this.#task;
    const ends = series.map((one) => stepsOf(one, channels));
    const maps = [...new Set(members)].map((candidate) => ({
      map: this.#candidates.fit(candidate, ends),
      share: members.filter((member) => member === candidate).length / members.length,
    }));
    const map = averageMap(maps);
    const units = this.#unitsFor(map.weights.length / this.#outputs / channels);
    return {
      scaler: this.#isCohort ? sharedScaler(this.#scalers) : this.#scalers[0],
      map,
      errors: this.#errorsOf(average, units, this.folds),
      folds: this.#scoresOf(average, units),
    };
  }

  /** The unit of the errors, [origin][channel]: that of the scaler or, in a cohort, the deviation of the window. */
  #unitsFor(length: number): Float64Array {
    const { channels } = this.#task;
    const units = new Float64Array(this.#origins.length * channels).fill(1);
    if (!this.#isCohort) return units;
    for (const [i, { series, step }] of this.#origins.entries()) {
      const window = this.#scaled[series].subarray((step - length) * channels, step * channels);
      for (let c = 0; c < channels; c++) units[i * channels + c] = windowUnit(window, channels, c, 1);
    }
    return units;
  }

  #errorsOf(average: Float64Array, units: Float64Array, folds: readonly Fold[]): ErrorShape {
    const { channels } = this.#task;
    const { horizon } = this.#task.plan;
    const m = this.#outputs;
    const judged = new Set(folds.flatMap((fold) => fold.origins));
    const errors = Array.from({ length: m }, (): number[] => []);
    for (const item of this.#scored) {
      const origin = Math.floor(item / m);
      if (!judged.has(this.#origins[origin])) continue;
      const unit = units[origin * channels + (item % channels)];
      errors[item % m].push((this.#actual[item] - average[item]) / unit);
    }
    return errorShapeOf(errors, { channels, spans: spansOf([...judged], horizon) });
  }

  /** Every fold is scored with the errors of the others. */
  #scoresOf(average: Float64Array, units: Float64Array): FoldScores {
    const { series, channels } = this.#task;
    const m = this.#outputs;
    const naiveErrors = series.map((one) => measureSeries(one, channels).units);
    const shapes = this.folds.map((fold) => {
      const others = this.folds.filter((other) => other !== fold && other.origins.length > 0);
      return this.#errorsOf(average, units, others.length > 0 ? others : [fold]);
    });
    const quantiles = shapes.map(({ shape }) => scoreLevels.map((level) => quantileOf(shape, level)));
    const foldOf = this.folds.flatMap(({ origins }, f) => origins.map(() => f));
    const sheet = new ScoreSheet(scoreLevels);
    for (const item of this.#scored) {
      const origin = Math.floor(item / m);
      const c = item % channels;
      const f = foldOf[origin];
      const { series: s } = this.#origins[origin];
      const unit = naiveErrors[s][c] / this.#scalers[s].scale[c];
      const spread = units[origin * channels + c] * shapes[f].spread[item % m];
      sheet.add(
        this.#actual[item] / unit,
        quantiles[f].map((quantile) => (average[item] + spread * quantile) / unit),
      );
    }
    return { mase: sheet.mase(1), crps: sheet.crps(1), points: sheet.steps };
  }
}

/** How many times τ steps the origins cover, all series together. */
function spansOf(origins: readonly Origin[], horizon: number): number {
  const lastBySeries = new Map<number, number>();
  let steps = 0;
  for (const { series, step } of origins) {
    const last = lastBySeries.get(series);
    steps += last === undefined ? horizon : Math.min(horizon, step - last);
    lastBySeries.set(series, step);
  }
  return steps / horizon;
}

/** A window this flat, relative to the history, would amplify noise. */
const flattest = 0.01;

/** Standard deviation of a channel of the window, but at least `flattest` times the scale of the history. */
export function windowUnit(window: Float64Array, channels: number, channel: number, scale: number): number {
  const steps = window.length / channels;
  let sum = 0;
  let squares = 0;
  // Relative to the last value, so that a high level costs no precision.
  const last = window[window.length - channels + channel];
  for (let i = channel; i < window.length; i += channels) {
    sum += window[i] - last;
    squares += (window[i] - last) ** 2;
  }
  const deviation = Math.sqrt(Math.max(0, squares / steps - (sum / steps) ** 2));
  return Math.max(deviation, flattest * scale);
}

/** Members bring level and scale with their windows; the scaler only tells how flat a window may be, for the quietest. */
function sharedScaler(scalers: readonly Scaler[]): Scaler {
  return {
    offset: scalers[0].offset.map(() => 0),
    scale: scalers[0].scale.map((_, c) => Math.min(...scalers.map(({ scale }) => scale[c]))),
  };
}

function scaleValues(values: Float64Array, { offset, scale }: Scaler): Float64Array {
  return values.map((value, i) => (value - offset[i % offset.length]) / scale[i % scale.length]);
}
