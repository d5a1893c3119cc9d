// The linear maps that compete for a series: which there are for its history, and how each is fitted to a part of it.

import type { FamilyTask } from "../family.ts";
import { firstRollingPart, rollingFolds, stepsOf } from "../folds.ts";
import { type AffineMap, type MapShape, naiveMap, repeatMap, smoothMap } from "../regression/affine-map.ts";
import { type Level, Regression, WindowSums } from "../regression/window-sums.ts";

export type Candidate =
  /** "direct" regresses every step on the window, "recursive" the next step only, and applies that to its own forecasts. */
  | {
      readonly way: "direct" | "recursive";
      readonly length: number;
      readonly level: Level;
      readonly penalty: number;
    }
  | { readonly way: "naive"; readonly length: number }
  | { readonly way: "smooth"; readonly length: number; readonly smoothing: number };

/** Seasons in a window. With a day as the season, eight hold a week and the day before it. */
const seasonsSeen = [1, 2, 4, 8];
/** "The same as a season ago", and as a week ago where the season is a day. */
const naiveSeasons = [1, 7];
const penalties = [1e-4, 1e-3, 1e-2, 1e-1, 1];
/** Large windows need a penalty, and every one tried takes long. */
const penaltiesOfLarge = [1e-3, 1e-1];
const largeInputs = 256;
const smoothings = [0.05, 0.2, 0.5, 1];

/** Most numbers in a window beyond the shortest: the time of a fit grows with their cube. */
const mostInputs = 400;
/** Windows of more seasons need rows in proportion, and are not worth a recursion. */
const fewSeasons = 4;
/** A regression on fewer rows is not tried. The folds judge whether so few were enough. */
const fewestRows = 2;

/** The shortest window covers half the horizon: a shorter one sees too little. */
export function shortestWindow(horizon: number, season: number): number {
  return season * Math.ceil(horizon / (2 * season));
}

/** Fewest steps of a history that can be fitted: the first origin comes after a window, the last before τ steps. */
export function leastSteps(horizon: number, season: number): number {
  return Math.ceil(shortestWindow(horizon, season) / firstRollingPart) + horizon;
}

/** Window lengths for which the first fold has rows enough, and which gaps do not tear. Ascending. */
export function lengthsFor({ plan, channels, series }: FamilyTask): readonly number[] {
  const { horizon, season } = plan;
  const shortest = shortestWindow(horizon, season);
  const known = series.map((one) => Math.floor(firstRollingPart * (stepsOf(one, channels) - horizon)));
  const rowsOf = (steps: number) => known.reduce((sum, count) => sum + Math.max(0, count - steps), 0);
  const wanted = [shortest, ...seasonsSeen.map((seasons) => seasons * season)];
  const possible = [...new Set(wanted)]
    .filter((length) => length >= shortest && known.some((count) => count >= length))
    .filter((length) => length === shortest || length * channels <= mostInputs)
    .filter((length) => length <= fewSeasons * shortest || rowsOf(length + horizon) >= 4 * shortest)
    .sort((one, other) => one - other);
  const originsOf = (longest: number) =>
    rollingFolds(series, { horizon, channels, longest }).flatMap((fold) => fold.origins).length;
  const [most] = possible.map(originsOf);
  return possible.filter((length) => most > 0 && 2 * originsOf(length) >= most);
}

/** Fits the candidates of one task. */
export class Candidates {
  readonly #task: FamilyTask;
  readonly #lengths: readonly number[];
  /** In units of their scalers, one per series. */
  readonly #scaled: readonly Float64Array[];

  constructor(task: FamilyTask, lengths: readonly number[], scaled: readonly Float64Array[]) {
    this.#task = task;
    this.#lengths = lengths;
    this.#scaled = scaled;
  }

  get #isCohort(): boolean {
    return this.#task.series.length > 1;
  }

  fit(candidate: Candidate, ends: readonly number[]): AffineMap {
    if (candidate.way === "naive" || candidate.way === "smooth") return this.#unfittedMap(candidate);
    const { way, length, level, penalty } = candidate;
    return this.#solve(new Regression(this.#sumsOf(way, length, ends), level, !this.#isCohort), way, penalty);
  }

  /** All candidates of this window length, fitted to the steps before `ends`, one end per series. */
  *fitAll(
    length: number,
    ends: readonly number[],
  ): Generator<{ readonly candidate: Candidate; readonly map: AffineMap }> {
    const { season } = this.#task.plan;
    const isFirst = (lag: number) =>
      lag <= length && !this.#lengths.some((other) => other < length && lag <= other);
    for (const lag of naiveSeasons.map((seasons) => seasons * season).filter(isFirst)) {
      const candidate: Candidate = { way: "naive", length: lag };
      yield { candidate, map: this.#unfittedMap(candidate) };
    }
    for (const smoothing of smoothings) {
      const candidate: Candidate = { way: "smooth", length, smoothing };
      yield { candidate, map: this.#unfittedMap(candidate) };
    }
    for (const way of this.#waysFor(length)) {
      const sums = this.#sumsOf(way, length, ends);
      if (sums.rows < fewestRows) continue;
      const tried = sums.inputs > largeInputs ? penaltiesOfLarge : penalties;
      for (const level of this.#levels()) {
        const regression = new Regression(sums, level, !this.#isCohort);
        for (const penalty of tried)
          yield { candidate: { way, length, level, penalty }, map: this.#solve(regression, way, penalty) };
      }
    }
  }

  /** Recursion needs a single channel: with several, it would have to forecast all of them to go on. */
  #waysFor(length: number): readonly ("direct" | "recursive")[] {
    const isShort = length <= fewSeasons * shortestWindow(this.#task.plan.horizon, this.#task.plan.season);
    return this.#task.channels === 1 && isShort ? ["direct", "recursive"] : ["direct"];
  }

  /** Members of a cohort differ in level: a map of theirs may only see differences. */
  #levels(): readonly Level[] {
    return this.#isCohort ? ["last", "mean"] : ["none", "last"];
  }

  #sumsOf(way: "direct" | "recursive", length: number, ends: readonly number[]): WindowSums {
    const { channels, plan } = this.#task;
    const sums = new WindowSums({ channels, length, horizon: way === "direct" ? plan.horizon : 1 });
    for (const [s, values] of this.#scaled.entries()) sums.add(values, 0, ends[s]);
    return sums;
  }

  #solve(regression: Regression, way: "direct" | "recursive", penalty: number): AffineMap {
    const map = regression.solve(penalty);
    return way === "direct" ? map : repeatMap(map, this.#task.plan.horizon);
  }

  #unfittedMap(candidate: Extract<Candidate, { way: "naive" | "smooth" }>): AffineMap {
    const { horizon, season } = this.#task.plan;
    const shape: MapShape = { length: candidate.length, horizon, channels: this.#task.channels };
    return candidate.way === "naive" ? naiveMap(shape) : smoothMap(shape, season, candidate.smoothing);
  }
}
