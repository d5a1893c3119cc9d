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
import { fitWeek, withoutWeek } from "../regression/week-profile.ts";
import { type Level, Regression, WindowSums } from "../regression/window-sums.ts";

/**
 * "direct" regresses every step on the window; "phases" on the last season and, in older ones, on its own phase only;
 * "recursive" the next step only, and applies that to its own forecasts.
 */
type Way =
  | { readonly way: "direct" | "phases" | "recursive"; readonly level: Level; readonly penalty: number }
  | { readonly way: "naive" }
  | { readonly way: "smooth"; readonly smoothing: Smoothing };

export type Candidate = Way & {
  /** Steps in its window. */
  readonly length: number;
  /** Whether it sees the history without its week. */
  readonly isAdjusted: boolean;
};

export interface FittedCandidate {
  readonly candidate: Candidate;
  /** From and to what it sees. */
  readonly map: AffineMap;
  readonly history: SeenHistory;
}

/** A history as candidates see it. */
export interface SeenHistory {
  /** In units of their scalers, one array per series. */
  readonly values: readonly Float64Array[];
  /** The profile of the week that was taken out; null for the history as it is. */
  readonly week: Float64Array | null;
}

/** Seasons in a window. With a day as the season, eight hold a week and the day before it. */
const seasonsSeen = [1, 2, 4, 8];
/** "The same as a season ago", and as a week ago where the season is a day. */
const naiveSeasons = [1, 7];
const penaltiesOfLong = [1e-4, 1e-2, 1];
/** With few rows the penalty matters more, and fits are cheap. */
const penaltiesOfShort = [1e-4, 1e-3, 1e-2, 1e-1, 1];
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
/** Windows of more seasons are regressed by phases only, and not without the week, which is what they are for. */
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
  readonly #whole: SeenHistory;
  readonly #isLong: boolean;
  readonly #adjustedByEnd = new Map<number, SeenHistory | null>();

  constructor(task: FamilyTask, lengths: readonly number[], scaled: readonly Float64Array[]) {
    const { plan, channels, series } = task;
    const reach: FoldReach = { horizon: plan.horizon, channels, longest: 0 };
    this.#task = task;
    this.#lengths = lengths;
    this.#whole = { values: scaled, week: null };
    this.#isLong = hasTwoFolds(series, reach);
  }

  /** The wanted candidates of this window length, fitted to the steps before `ends`, one end per series. */
  *fitAll(
    length: number,
    ends: readonly number[],
    isWanted: (candidate: Candidate) => boolean = () => true,
  ): Generator<FittedCandidate> {
    yield* this.#fitTo(this.#whole, length, ends, isWanted);
    if (this.#isMany(length)) return;
    const adjusted = this.adjustedBefore(ends);
    if (adjusted !== null) yield* this.#fitTo(adjusted, length, ends, isWanted);
  }

  /** The history without the week that shows before `ends`. Null where none shows, and for cohorts. */
  adjustedBefore([end]: readonly number[]): SeenHistory | null {
    const known = this.#adjustedByEnd.get(end);
    if (known !== undefined) return known;
    const { plan, channels, series } = this.#task;
    const firstStep = series[0].firstStep ?? 0;
    const source = { values: this.#whole.values[0], channels, season: plan.season, firstStep };
    const week = this.#isCohort ? null : fitWeek(source, end);
    const adjusted = week === null ? null : { values: [withoutWeek(source, week)], week };
    this.#adjustedByEnd.set(end, adjusted);
    return adjusted;
  }

  *#fitTo(
    history: SeenHistory,
    length: number,
    ends: readonly number[],
    isWanted: (candidate: Candidate) => boolean,
  ): Generator<FittedCandidate> {
    const common = { length, isAdjusted: history.week !== null };
    for (const way of this.#unfitted(length)) {
      const candidate = { ...common, ...way };
      if (isWanted(candidate)) yield { candidate, map: this.#unfittedMap(candidate), history };
    }
    for (const { way, fit } of this.#regressions(history, length, ends)) {
      const candidate = { ...common, ...way };
      if (isWanted(candidate)) yield { candidate, map: fit(), history };
    }
  }

  /** The ways to regress. `fit` does the work. */
  *#regressions(
    { values }: SeenHistory,
    length: number,
    ends: readonly number[],
  ): Generator<{ readonly way: Way; readonly fit: () => AffineMap }> {
    const { season, horizon } = this.#task.plan;
    const sums = this.#sumsOf(values, length, horizon, ends);
    // The sums for all steps leave out the last τ − 1 rows of the next step. A short history cannot spare them.
    const isRecursed = this.#isRecursed(length);
    const nextSums = this.#isLong || !isRecursed ? sums : this.#sumsOf(values, length, 1, ends);
    for (const level of this.#levelsFor(length)) {
      const regression = once(() => new Regression(sums, level, !this.#isCohort));
      const ofNext =
        nextSums === sums ? regression : once(() => new Regression(nextSums, level, !this.#isCohort));
      for (const penalty of this.#penaltiesFor(length)) {
        const direct = once(() => regression().solve(penalty));
        // The first output of the direct map is the regression of the next step.
        const next = nextSums === sums ? () => firstOutput(direct()) : () => ofNext().solve(penalty);
        if (hasRows(sums)) yield { way: { way: "direct", level, penalty }, fit: direct };
        if (isRecursed && hasRows(nextSums))
          yield { way: { way: "recursive", level, penalty }, fit: () => repeatMap(next(), horizon) };
      }
      if (this.#task.channels > 1 || !this.#isMany(length) || !hasRows(sums)) continue;
      for (const penalty of penaltiesOfPhases)
        yield {
          way: { way: "phases", level, penalty },
          fit: () => regression().solvePhases(penalty, season),
        };
    }
  }

  get #isCohort(): boolean {
    return this.#task.series.length > 1;
  }

  #isMany(length: number): boolean {
    const { horizon, season } = this.#task.plan;
    return length > fewSeasons * shortestWindow(horizon, season);
  }

  /** Recursion needs a single channel: with several, it would have to forecast all of them to go on. */
  #isRecursed(length: number): boolean {
    return this.#task.channels === 1 && !this.#isMany(length);
  }

  #penaltiesFor(length: number): readonly number[] {
    if (this.#isMany(length)) return [];
    if (length * this.#task.channels > largeInputs) return penaltiesOfLarge;
    return this.#isLong ? penaltiesOfLong : penaltiesOfShort;
  }

  /** Members of a cohort differ in level: a map of theirs may only see differences. */
  #levelsFor(length: number): readonly Level[] {
    if (length * this.#task.channels > largeInputs) return ["last"];
    return this.#isCohort ? ["last", "mean"] : ["none", "last"];
  }

  #sumsOf(
    values: readonly Float64Array[],
    length: number,
    horizon: number,
    ends: readonly number[],
  ): WindowSums {
    const sums = new WindowSums({ channels: this.#task.channels, length, horizon });
    for (const [s, own] of values.entries()) sums.add(own, 0, ends[s]);
    return sums;
  }

  #unfitted(length: number): readonly UnfittedWay[] {
    const { season } = this.#task.plan;
    const isFirst = (lag: number) =>
      lag <= length && !this.#lengths.some((other) => other < length && lag <= other);
    const lags = naiveSeasons.map((seasons) => seasons * season).filter(isFirst);
    const ofShort = length === season ? smoothingsOfOne : smoothingsOfShort;
    const smoothings = this.#isLong ? smoothingsOfLong : ofShort;
    return [
      ...lags.map((lag) => ({ way: "naive" as const, length: lag })),
      ...smoothings.map((smoothing) => ({ way: "smooth" as const, smoothing })),
    ];
  }

  #unfittedMap(candidate: UnfittedWay & { readonly length: number }): AffineMap {
    const { horizon, season } = this.#task.plan;
    const shape: MapShape = { length: candidate.length, horizon, channels: this.#task.channels };
    return candidate.way === "naive" ? naiveMap(shape) : smoothMap(shape, season, candidate.smoothing);
  }
}

type UnfittedWay = Extract<Way, { way: "naive" | "smooth" }>;

function hasRows({ rows, inputs }: WindowSums): boolean {
  return rows >= Math.max(2, fewestRowsPerInput * inputs);
}

/** What several fits share is made when the first one needs it. */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
