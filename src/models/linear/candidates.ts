// The linear maps that compete for a series: which there are for its history, and how each is fitted to a part of it.

import type { FamilyTask } from "../family.ts";
import { type FoldReach, firstRollingPart, hasTwoFolds, rollingFolds, stepsOf } from "../folds.ts";
import {
  type AffineMap,
  firstOutput,
  type MapShape,
  naiveMap,
  repeatMap,
  type Smoothing,
  smoothMap,
} from "../regression/affine-map.ts";
import { type Level, Regression, WindowSums } from "../regression/window-sums.ts";

export type Candidate =
  /**
   * "direct" regresses every step on the window; "phases" on the last season and, in older ones, on its own phase only;
   * "recursive" the next step only, and applies that to its own forecasts.
   */
  | {
      readonly way: "direct" | "phases" | "recursive";
      readonly length: number;
      readonly level: Level;
      readonly penalty: number;
    }
  | { readonly way: "naive"; readonly length: number }
  | { readonly way: "smooth"; readonly length: number; readonly smoothing: Smoothing };

export interface FittedCandidate {
  readonly candidate: Candidate;
  readonly map: AffineMap;
}

/** Seasons in a window. With a day as the season, eight hold a week and the day before it. */
const seasonsSeen = [1, 2, 4, 8];
/** "The same as a season ago", and as a week ago where the season is a day. */
const naiveSeasons = [1, 7];
const penalties = [1e-4, 1e-3, 1e-2, 1e-1, 1];
/** Windows of many seasons need a penalty, and every one tried takes long. */
const penaltiesOfMany = [1e-3, 1e-1];
/** With more inputs, only differences from the last value are regressed, with one penalty: the time of a fit grows with their cube. */
const largeInputs = 256;
const penaltiesOfLarge = [1e-3];
const penaltiesOfPhases = [1e-2, 1e-1];

/**
 * Trends, profiles that forget and levels without a profile improve forecasts of short histories. Of long ones, regressions know
 * as much.
 */
const smoothingsOfShort = [0.05, 0.2, 0.5, 1].flatMap((level) =>
  [1, 0.5, null].flatMap((profile) => [0, 0.5, 1].map((trend): Smoothing => ({ level, profile, trend }))),
);
/** One season has neither an older profile nor a trend. */
const smoothingsOfOne = smoothingsOfShort.filter(({ profile, trend }) => profile !== 0.5 && trend === 0);
const smoothingsOfLong = smoothingsOfOne.filter(({ profile }) => profile !== null);

/** Most numbers in a window beyond the shortest, for the same reason. */
const mostInputs = 400;
/** Windows of more seasons need rows in proportion, and are not worth a recursion. */
const fewSeasons = 4;
/** A regression on fewer rows for each input is not tried: its forecasts can run away where the folds do not show it. */
const fewestRowsPerInput = 0.5;

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
  readonly #isLong: boolean;

  constructor(task: FamilyTask, lengths: readonly number[], scaled: readonly Float64Array[]) {
    const { plan, channels, series } = task;
    const reach: FoldReach = { horizon: plan.horizon, channels, longest: 0 };
    this.#task = task;
    this.#lengths = lengths;
    this.#scaled = scaled;
    this.#isLong = hasTwoFolds(series, reach);
  }

  /** The wanted candidates of this window length, fitted to the steps before `ends`, one end per series. */
  *fitAll(
    length: number,
    ends: readonly number[],
    isWanted: (candidate: Candidate) => boolean = () => true,
  ): Generator<FittedCandidate> {
    for (const candidate of this.#unfitted(length).filter(isWanted))
      yield { candidate, map: this.#unfittedMap(candidate) };
    const sums = this.#sumsOf(length, this.#task.plan.horizon, ends);
    // The sums for all steps leave out the last τ − 1 rows of the next step. A short history cannot spare them.
    const nextSums = this.#isLong || !this.#isRecursed(length) ? sums : this.#sumsOf(length, 1, ends);
    for (const level of this.#levelsFor(length)) {
      if (hasRows(sums)) yield* this.#fitDirect(sums, level, isWanted);
      if (this.#isRecursed(length) && nextSums !== sums && hasRows(nextSums))
        yield* this.#fitNext(nextSums, level, isWanted);
    }
  }

  *#fitDirect(
    sums: WindowSums,
    level: Level,
    isWanted: (candidate: Candidate) => boolean,
  ): Generator<FittedCandidate> {
    const { season, horizon } = this.#task.plan;
    const { length } = sums.shape;
    const regression = new Regression(sums, level, !this.#isCohort);
    for (const penalty of this.#penaltiesFor(length)) {
      const direct: Candidate = { way: "direct", length, level, penalty };
      const recursive: Candidate = { ...direct, way: "recursive" };
      const isRecursed = this.#isLong && this.#isRecursed(length) && isWanted(recursive);
      if (!isWanted(direct) && !isRecursed) continue;
      const map = regression.solve(penalty);
      if (isWanted(direct)) yield { candidate: direct, map };
      // The first output of the direct map is the regression of the next step.
      if (isRecursed) yield { candidate: recursive, map: repeatMap(firstOutput(map), horizon) };
    }
    if (this.#task.channels > 1 || length <= fewSeasons * season) return;
    for (const penalty of penaltiesOfPhases) {
      const candidate: Candidate = { way: "phases", length, level, penalty };
      if (isWanted(candidate)) yield { candidate, map: regression.solvePhases(penalty, season) };
    }
  }

  *#fitNext(
    sums: WindowSums,
    level: Level,
    isWanted: (candidate: Candidate) => boolean,
  ): Generator<FittedCandidate> {
    const regression = new Regression(sums, level, !this.#isCohort);
    for (const penalty of penalties) {
      const candidate: Candidate = { way: "recursive", length: sums.shape.length, level, penalty };
      if (isWanted(candidate))
        yield { candidate, map: repeatMap(regression.solve(penalty), this.#task.plan.horizon) };
    }
  }

  get #isCohort(): boolean {
    return this.#task.series.length > 1;
  }

  /** Recursion needs a single channel: with several, it would have to forecast all of them to go on. */
  #isRecursed(length: number): boolean {
    const { plan, channels } = this.#task;
    return channels === 1 && length <= fewSeasons * shortestWindow(plan.horizon, plan.season);
  }

  #penaltiesFor(length: number): readonly number[] {
    const { plan, channels } = this.#task;
    if (length * channels > largeInputs) return penaltiesOfLarge;
    return length > fewSeasons * plan.season ? penaltiesOfMany : penalties;
  }

  /** Members of a cohort differ in level: a map of theirs may only see differences. */
  #levelsFor(length: number): readonly Level[] {
    if (length * this.#task.channels > largeInputs) return ["last"];
    return this.#isCohort ? ["last", "mean"] : ["none", "last"];
  }

  #sumsOf(length: number, horizon: number, ends: readonly number[]): WindowSums {
    const sums = new WindowSums({ channels: this.#task.channels, length, horizon });
    for (const [s, values] of this.#scaled.entries()) sums.add(values, 0, ends[s]);
    return sums;
  }

  #unfitted(length: number): readonly Extract<Candidate, { way: "naive" | "smooth" }>[] {
    const { season } = this.#task.plan;
    const isFirst = (lag: number) =>
      lag <= length && !this.#lengths.some((other) => other < length && lag <= other);
    const lags = naiveSeasons.map((seasons) => seasons * season).filter(isFirst);
    const ofShort = length === season ? smoothingsOfOne : smoothingsOfShort;
    const smoothings = this.#isLong ? smoothingsOfLong : ofShort;
    return [
      ...lags.map((lag) => ({ way: "naive" as const, length: lag })),
      ...smoothings.map((smoothing) => ({ way: "smooth" as const, length, smoothing })),
    ];
  }

  #unfittedMap(candidate: Extract<Candidate, { way: "naive" | "smooth" }>): AffineMap {
    const { horizon, season } = this.#task.plan;
    const shape: MapShape = { length: candidate.length, horizon, channels: this.#task.channels };
    return candidate.way === "naive" ? naiveMap(shape) : smoothMap(shape, season, candidate.smoothing);
  }
}

function hasRows({ rows, inputs }: WindowSums): boolean {
  return rows >= Math.max(2, fewestRowsPerInput * inputs);
}
