// The nets that are tried for a series: their window lengths and frames, and how long they train, by the effort asked for.
// All have dense cells and Gaussian outputs, as in the paper, but fewer neurons. Beyond the paper they have a linear shortcut,
// by which they beat linear models.
//
// The efforts were chosen by measuring on parts of the samples that come before their tests.

import type { ModelForm } from "../../../domain.ts";
import type { Effort, TrainingSeries } from "../../family.ts";
import { type FoldReach, firstPart, foldsOf, stepsOf } from "../../folds.ts";
import type { CellSpec } from "../cells.ts";
import { type ForecastNetSpec, type Framing, specOf } from "../spec.ts";
import type { OnwardSchedule } from "./candidates-request.ts";

/** What is to be forecast. */
export interface Task {
  readonly horizon: number;
  readonly season: number;
  readonly channels: number;
  readonly targets: readonly number[];
}

const framings: readonly Framing[] = [
  { level: "none", scale: "none" },
  { level: "last", scale: "none" },
  { level: "mean", scale: "deviation" },
  { level: "last", scale: "deviation" },
];

/** Seasons in a window: one, the paper's two, and enough for a week of days. */
const seasonsSeen = [1, 2, 4, 8];

/** Most numbers in a window: the time of the closed-form start grows with their cube. */
const mostInputs = 768;

/** The candidates that histories of these lengths, one series or the members of a cohort, can train and score. */
export function candidatesFor(task: Task, ...steps: readonly number[]): ForecastNetSpec[] {
  const { horizon, channels, targets } = task;
  const unit = unitOf(task);
  const fitting = seasonsSeen
    .filter((seasons) => seasons === 1 || seasons * unit * channels <= mostInputs)
    .filter((seasons) => rowsOf(steps, seasons * unit, horizon) >= rowsNeeded(seasons, unit));
  return fitting.flatMap((seasons) => {
    const shape = { inputLength: seasons * unit, channels, targets, cell: cellFor(seasons) };
    return framings.map((framing) =>
      specOf("FN", horizon, { ...shape, loss: "crps", shortcut: "linear", framing }),
    );
  });
}

/**
 * The linear part of a forecast is the shortcut's, so half of the paper's neurons or fewer are enough, given time to train. Most of
 * the weights are those by which the first layer of every cell reads the window: in a long window it has the fewest neurons.
 */
function cellFor(seasons: number): CellSpec {
  return { kind: "dense", units: [seasons > 4 ? 4 : 12, 8], activation: "relu" };
}

/** Fewest steps of one history for which there is a candidate and an origin to score it at. */
export function stepsNeeded(task: Task): number {
  const unit = unitOf(task);
  return enoughSteps(unit, rowsNeeded(1, unit), task.horizon);
}

/** The same for a net of a given window length, which needs twice as many rows as inputs. */
export function stepsNeededFor({ inputLength, horizon }: ForecastNetSpec): number {
  return enoughSteps(inputLength, 2 * inputLength, horizon);
}

function enoughSteps(inputLength: number, rows: number, horizon: number): number {
  const toTrain = Math.ceil((inputLength + horizon + rows) / firstPart);
  // A fifth of the history holds the targets of at least one origin.
  return Math.max(toTrain, 5 * (horizon + 1));
}

/** The season, or as many seasons as cover half the horizon: a shorter window sees too little. */
function unitOf({ season, horizon }: Task): number {
  return season * Math.ceil(horizon / (2 * season));
}

/** Rows of the first fold, which trains on a part of the histories only. */
function rowsOf(steps: readonly number[], inputLength: number, horizon: number): number {
  return steps.reduce((sum, count) => sum + Math.max(0, firstPart * count - inputLength - horizon), 0);
}

/** A longer window needs more rows to learn from. */
function rowsNeeded(seasons: number, unit: number): number {
  return (seasons === 1 ? 2 : 4) * unit;
}

export interface Trial {
  readonly specs: readonly ForecastNetSpec[];
  readonly schedule: OnwardSchedule;
}

export const schedules: Readonly<Record<Effort, OnwardSchedule>> = {
  quick: { epochs: 8, further: 4, kept: 2 },
  normal: { epochs: 24, further: 12, kept: 3 },
  thorough: { epochs: 32, further: 16, kept: 8 },
};

export interface TrialOptions {
  readonly form: ModelForm;
  readonly effort: Effort;
  /** Nets of the model that is to be replaced; empty when there is none. */
  readonly known: readonly ForecastNetSpec[];
}

/** The trial that fits the series; null when they are too short for any candidate. */
export function chooseTrial(
  { form, effort, known }: TrialOptions,
  task: Task,
  series: readonly TrainingSeries[],
): Trial | null {
  const steps = series.map((one) => stepsOf(one, task.channels));
  const isCohort = series.length > 1;
  if (form !== "auto") {
    const spec = paperSpec(form, task, isCohort);
    return Math.max(...steps) < stepsNeededFor(spec) ? null : { specs: [spec], schedule: schedules[effort] };
  }
  const all = candidatesFor(task, ...steps).filter(({ framing }) => !isCohort || isScaleFree(framing));
  const fitting = withoutTornLengths(all, series, task);
  if (fitting.length === 0) return null;
  return { specs: chosenBefore(fitting, known) ?? pick(effort, fitting), schedule: schedules[effort] };
}

/** Fewest steps of one history for which `chooseTrial` finds a trial. */
export function leastSteps({ form }: Pick<TrialOptions, "form">, task: Task): number {
  return form === "auto" ? stepsNeeded(task) : stepsNeededFor(paperSpec(form, task, false));
}

const cohortFraming: Framing = { level: "mean", scale: "deviation" };

function paperSpec(
  form: Exclude<ModelForm, "auto">,
  { horizon, channels, targets }: Task,
  isCohort: boolean,
): ForecastNetSpec {
  return specOf(form, horizon, { channels, targets, ...(isCohort && { framing: cohortFraming }) });
}

/** Members of a cohort may differ by orders of magnitude, so level and scale must come from the window. */
function isScaleFree({ level, scale }: Framing): boolean {
  return level !== "none" && scale === "deviation";
}

/** Drops lengths for which gaps leave less than half of the origins that the shortest length has. */
function withoutTornLengths(
  specs: readonly ForecastNetSpec[],
  series: readonly TrainingSeries[],
  { horizon, channels }: Task,
): readonly ForecastNetSpec[] {
  const lengths = lengthsOf(specs);
  const counts = lengths.map((longest) => fewestOrigins(series, { horizon, channels, longest }));
  const fitting = new Set(lengths.filter((_, i) => i === 0 || (counts[i] > 0 && 2 * counts[i] >= counts[0])));
  return specs.filter(({ inputLength }) => fitting.has(inputLength));
}

function fewestOrigins(series: readonly TrainingSeries[], reach: FoldReach): number {
  return Math.min(...foldsOf(series, reach).map(({ origins }) => origins.length));
}

/**
 * The candidates that won the last race, so that there need not be another one. Null when one of them is no candidate any more,
 * or when the history has room for a longer window than they have. Their weights are of no use: they were trained on the folds,
 * and what they forecast there would be no proof.
 */
function chosenBefore(
  specs: readonly ForecastNetSpec[],
  known: readonly ForecastNetSpec[],
): readonly ForecastNetSpec[] | null {
  const names = new Set(known.map((spec) => JSON.stringify(spec)));
  const found = specs.filter((spec) => names.has(JSON.stringify(spec)));
  const longest = Math.max(...found.map(({ inputLength }) => inputLength));
  const isWhole = found.length === names.size && longest === specs[specs.length - 1].inputLength;
  return found.length > 0 && isWhole ? found : null;
}

/**
 * Two seasons, as in the paper, or one where there is no room for two, in the frame of the whole history; and the longest window
 * there is room for, in the frame that moves with the window. `normal` adds two seasons in the moving frame. `thorough` trains every
 * candidate twice, from different initial weights: nets that differ only by chance average well.
 */
function pick(effort: Effort, specs: readonly ForecastNetSpec[]): readonly ForecastNetSpec[] {
  if (effort === "thorough") return [...specs, ...specs];
  const lengths = lengthsOf(specs);
  const usual = specs.filter(({ inputLength }) => inputLength === lengths[Math.min(1, lengths.length - 1)]);
  const longest = specs[specs.length - 1];
  const wanted = [usual[0], longest, ...(effort === "normal" ? [usual[usual.length - 1]] : [])];
  return specs.filter((spec) => wanted.includes(spec));
}

/** Ascending. */
function lengthsOf(specs: readonly ForecastNetSpec[]): readonly number[] {
  return [...new Set(specs.map(({ inputLength }) => inputLength))].sort((one, other) => one - other);
}
