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
import { type AffineMap, applyMap, averageMap, type SharedMap } from "../regression/affine-map.ts";
import { modulo, type WeekTerm, weekAhead } from "../regression/week-profile.ts";
import { fitScaler, fitSeriesScaler, scaleValues, sharedScaler } from "../scaler.ts";
import { meanOf } from "../scores.ts";
import {
  type Candidate,
  Candidates,
  type FittedCandidate,
  leastSteps,
  lengthsFor,
  shortestWindow,
} from "./candidates.ts";
import type { ErrorModel } from "./error-model.ts";
import { FoldErrors } from "./fold-errors.ts";

export interface LinearFit extends AverageMap {
  readonly scaler: Scaler;
  readonly errors: ErrorModel;
  readonly folds: FoldScores;
  readonly heldOut: HeldOutForecasts | null;
}

interface AverageMap {
  readonly map: AffineMap;
  /** What the week adds to the map; null where no candidate with a share saw the history without its week. */
  readonly week: WeekTerm | null;
}

/** Only so many of the best candidates enter the average. */
const poolSize = 40;
/**
 * The share of a candidate at a step falls with its error to the power of this × √(spans of τ steps judged): the less there was to
 * judge by, the more alike the shares. Its error is the geometric mean of that at the step and that at all steps.
 */
const sharpness = 3;
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

interface JudgedErrors {
  /** [output] */
  readonly byOutput: Float64Array;
  /** The mean over all outputs. */
  readonly error: number;
}

interface Chosen {
  /** Shares of the candidates, [output]. Those of an output add up to 1. */
  readonly sharesByName: ReadonlyMap<string, Float64Array>;
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
    const fit = series.length === 1 ? fitSeriesScaler : fitMemberScaler;
    this.#scalers = series.map((one) => fit(one, channels, stepsOf(one, channels)));
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
    for (const fitted of this.#candidates.fitAll(length, fold.trainTo)) {
      const { candidate } = fitted;
      const name = JSON.stringify(candidate);
      let judged = this.#judgedByName.get(name);
      if (judged === undefined) {
        judged = { candidate, forecasts: new Float64Array(this.#errors.actual.length), folds: 0 };
        this.#judgedByName.set(name, judged);
      }
      this.#forecast(fold, fitted, judged.forecasts);
      judged.folds++;
    }
  }

  #forecast(fold: Fold, { map, history: { values, week } }: FittedCandidate, into: Float64Array): void {
    const { channels } = this.#task;
    const m = this.#outputs;
    let at = firstOriginOf(fold, this.folds) * m;
    for (const [series, own] of values.entries()) {
      const steps = fold.origins.filter((origin) => origin.series === series).map(({ step }) => step);
      const ends = steps.map((step) => step * channels);
      applyMap(map, own, ends, { into, at });
      for (const step of steps) {
        const first = this.#numberOf(series, step) * channels;
        for (let o = 0; week !== null && o < m; o++) into[at + o] += week[modulo(first + o, week.length)];
        at += m;
      }
    }
  }

  #numberOf(series: number, step: number): number {
    return (this.#task.series[series].firstStep ?? 0) + step;
  }

  best(): LinearFit | string {
    const chosen = this.#choose();
    if (chosen === null) return "no candidate gives finite forecasts";
    const { series, channels } = this.#task;
    const { model, scores, heldOut } = this.#errors.judge(chosen.forecasts, chosen.length);
    return {
      scaler: series.length > 1 ? sharedScaler(this.#scalers) : this.#scalers[0],
      ...this.#averageBefore(
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
      .map((judged) => {
        const byOutput = errors.errorByOutput(judged.forecasts);
        return { ...judged, byOutput, error: meanOf(byOutput) };
      })
      .filter(({ error }) => Number.isFinite(error))
      .sort((one, other) => one.error - other.error)
      .slice(0, poolSize);
    if (pool.length === 0) return null;
    const shares = this.#sharesOf(pool);
    const forecasts = new Float64Array(errors.actual.length);
    const m = this.#outputs;
    for (const [i, judged] of pool.entries()) {
      for (let at = 0; at < forecasts.length; at += m)
        for (let o = 0; o < m; o++) forecasts[at + o] += shares[i][o] * judged.forecasts[at + o];
    }
    const kept = pool
      .map(({ candidate }, i) => ({ candidate, shares: shares[i] }))
      .filter((one) => one.shares.some((share) => share > 0));
    return {
      sharesByName: new Map(kept.map((one) => [JSON.stringify(one.candidate), one.shares])),
      forecasts,
      length: Math.max(...kept.map(({ candidate }) => candidate.length)),
    };
  }

  /** [candidate][output] */
  #sharesOf(pool: readonly JudgedErrors[]): readonly Float64Array[] {
    const m = this.#outputs;
    const power = sharpness * Math.sqrt(this.#errors.spans);
    const errors = pool.map(({ byOutput, error }) => byOutput.map((own) => Math.sqrt(own * error)));
    const shares = pool.map(() => new Float64Array(m));
    for (let o = 0; o < m; o++) {
      const least = Math.min(...errors.map((own) => own[o]));
      const raw = errors.map((own) => (own[o] > 0 ? (least / own[o]) ** power : 1));
      const total = raw.reduce((sum, share) => sum + share, 0);
      const kept = raw.map((share) => (share > leastShare * total ? share : 0));
      const keptTotal = kept.reduce((sum, share) => sum + share, 0);
      for (const [i, share] of kept.entries()) shares[i][o] = share / keptTotal;
    }
    return shares;
  }

  /** The chosen average, fitted to the steps before `ends`. */
  #averageBefore({ sharesByName }: Chosen, ends: readonly number[]): AverageMap {
    const m = this.#outputs;
    const maps: SharedMap[] = [];
    const adjusted: SharedMap[] = [];
    const hasWeek = this.#candidates.adjustedBefore(ends) !== null;
    const sharesOf = (candidate: Candidate) => {
      const own = sharesByName.get(JSON.stringify(candidate));
      // The week of an earlier fold may not show any more. What saw the history without it then sees it as it is.
      const adjusted = hasWeek
        ? undefined
        : sharesByName.get(JSON.stringify({ ...candidate, isAdjusted: true }));
      return own && adjusted ? own.map((share, o) => share + adjusted[o]) : (own ?? adjusted);
    };
    const isWanted = (candidate: Candidate) => sharesOf(candidate) !== undefined;
    let profile: Float64Array | null = null;
    for (const length of this.#lengths) {
      for (const { candidate, map, history } of this.#candidates.fitAll(length, ends, isWanted)) {
        const shares = sharesOf(candidate) as Float64Array;
        maps.push({ map, shares });
        if (history.week === null) continue;
        adjusted.push({ map, shares });
        profile = history.week;
      }
    }
    const map = averageMap(maps);
    if (profile === null) return { map, week: null };
    const shares = Float64Array.from({ length: m }, (_, o) =>
      adjusted.reduce((sum, one) => sum + one.shares[o], 0),
    );
    return { map, week: { profile, shares, weights: averageMap(adjusted).weights } };
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
    const { channels } = this.#task;
    let at = 0;
    for (const { trainTo, origins } of folds) {
      const { map, week } = this.#averageBefore(chosen, trainTo);
      for (const { series, step } of origins) {
        applyMap(map, this.#scaled[series], [step * channels], { into: forecasts, at });
        const terms = week === null ? [] : weekAhead(week, this.#numberOf(series, step) - 1, channels);
        for (const [o, term] of terms.entries()) forecasts[at + o] += term;
        at += this.#outputs;
      }
    }
    return errors.judge(forecasts, chosen.length).heldOut;
  }
}

/** Index among the origins of all folds. */
function firstOriginOf(fold: Fold, folds: readonly Fold[]): number {
  return folds.slice(0, folds.indexOf(fold)).reduce((sum, { origins }) => sum + origins.length, 0);
}

/** Members of a cohort may differ in sign, so they are not scaled by roots. */
function fitMemberScaler({ values }: TrainingSeries, channels: number, end: number): Scaler {
  return fitScaler(values, channels, end);
}
