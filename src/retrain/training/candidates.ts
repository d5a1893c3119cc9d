// The nets that are tried for a series: how much of the past they see, and in what frame. All have the paper's dense
// cells and Gaussian outputs, and beyond the paper a linear shortcut, which is what carries them past linear models.

import { type ForecastNetSpec, type Framing, specOf } from "../../models/forecastnet/spec.ts";
import { firstPart } from "./folds.ts";

/** What is to be forecast. */
export interface Task {
  readonly horizon: number;
  readonly season: number;
  readonly channels: number;
  readonly targets: readonly number[];
}

const framings: readonly Framing[] = [
  { level: "none", scale: "none", season: null },
  { level: "last", scale: "none", season: null },
  { level: "mean", scale: "deviation", season: null },
  { level: "last", scale: "deviation", season: null },
];

/** Seasons of the past that a net sees: one, the paper's two, and enough for a week of days. */
const seasonsSeen = [1, 2, 4, 8];

/** Numbers in a window: the closed-form start takes time with their cube. */
const mostInputs = 768;

/** Those that histories of so many steps, one series or the members of a cohort, are long enough to train and to judge. */
export function candidatesFor(task: Task, ...steps: readonly number[]): ForecastNetSpec[] {
  const { horizon, channels, targets } = task;
  const unit = unitOf(task);
  const lengths = seasonsSeen
    .filter((seasons) => seasons === 1 || seasons * unit * channels <= mostInputs)
    .filter((seasons) => rowsOf(steps, seasons * unit, horizon) >= rowsNeeded(seasons, unit))
    .map((seasons) => seasons * unit);
  return lengths.flatMap((inputLength) =>
    framings.map((framing) =>
      specOf("FN", horizon, { inputLength, channels, targets, loss: "crps", shortcut: "linear", framing }),
    ),
  );
}

/** Steps of one history below which there is no candidate, or nothing to judge it on. */
export function stepsNeeded(task: Task): number {
  const unit = unitOf(task);
  return enoughSteps(unit, rowsNeeded(1, unit), task.horizon);
}

/** The same for a net of a given length, whose rows are to be twice as many as its inputs. */
export function stepsNeededFor({ inputLength, horizon }: ForecastNetSpec): number {
  return enoughSteps(inputLength, 2 * inputLength, horizon);
}

function enoughSteps(inputLength: number, rows: number, horizon: number): number {
  const toTrain = Math.ceil((inputLength + horizon + rows) / firstPart);
  // A fifth of the history holds the targets of at least one origin.
  return Math.max(toTrain, 5 * (horizon + 1));
}

/** The season, or as many of them as half the horizon has: a window much shorter than that sees too little. */
function unitOf({ season, horizon }: Task): number {
  return season * Math.ceil(horizon / (2 * season));
}

/** The first fold trains on a part of the histories only. */
function rowsOf(steps: readonly number[], inputLength: number, horizon: number): number {
  return steps.reduce((sum, count) => sum + Math.max(0, firstPart * count - inputLength - horizon), 0);
}

/** A longer window needs more rows to learn from. */
function rowsNeeded(seasons: number, unit: number): number {
  return (seasons === 1 ? 2 : 4) * unit;
}
