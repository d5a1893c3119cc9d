// Which candidates are tried for a model, and for how long, by the effort asked for. Chosen by measuring on the samples:
// "quick" is a small part of the work of "thorough" and a little worse, "normal" a quarter and about as good.

import type { ModelForm } from "../../domain.ts";
import { type ForecastNetSpec, type Framing, specOf } from "../../models/forecastnet/spec.ts";
import type { Effort } from "../training-task.ts";
import { candidatesFor, stepsNeeded, stepsNeededFor, type Task } from "./candidates.ts";
import { foldsOf, type Reach } from "./folds.ts";
import { longSchedule, type Schedule } from "./train-candidate.ts";
import { stepsOf, type TrainingSeries } from "./training-series.ts";

export interface Trial {
  readonly specs: readonly ForecastNetSpec[];
  readonly schedule: Schedule;
}

const schedules: Readonly<Record<Effort, Schedule>> = {
  quick: { epochs: 4, checkpoints: [0, 2, 4] },
  normal: { epochs: 8, checkpoints: [0, 2, 4, 6, 8] },
  thorough: longSchedule,
};

export interface Wish {
  readonly form: ModelForm;
  readonly effort: Effort;
}

/** What fits the series; null when they are too short for anything. */
export function chooseTrial(
  { form, effort }: Wish,
  task: Task,
  series: readonly TrainingSeries[],
): Trial | null {
  const steps = series.map((one) => stepsOf(one, task.channels));
  const isCohort = series.length > 1;
  if (form !== "auto") {
    const spec = paperSpec(form, task, isCohort);
    // The paper's nets have no linear start: a short training would leave them untrained.
    return Math.max(...steps) < stepsNeededFor(spec) ? null : { specs: [spec], schedule: longSchedule };
  }
  const all = candidatesFor(task, ...steps).filter(({ framing }) => !isCohort || isScaleFree(framing));
  const fitting = withoutTornLengths(all, series, task);
  return fitting.length === 0 ? null : { specs: pick(effort, fitting), schedule: schedules[effort] };
}

/** Steps that one history must have for `chooseTrial` to find anything. */
export function leastSteps({ form }: Wish, task: Task): number {
  return form === "auto" ? stepsNeeded(task) : stepsNeededFor(paperSpec(form, task, false));
}

const cohortFraming: Framing = { level: "mean", scale: "deviation", season: null };

function paperSpec(
  form: Exclude<ModelForm, "auto">,
  { horizon, channels, targets }: Task,
  isCohort: boolean,
): ForecastNetSpec {
  return specOf(form, horizon, { channels, targets, ...(isCohort && { framing: cohortFraming }) });
}

/** Members of a cohort may differ by orders of magnitude: level and scale must come from the window. */
function isScaleFree({ level, scale }: Framing): boolean {
  return level !== "none" && scale === "deviation";
}

/** Between gaps there is more room for short windows: a length must leave half of the origins that the least has. */
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

function fewestOrigins(series: readonly TrainingSeries[], reach: Reach): number {
  return Math.min(...foldsOf(series, reach).map(({ origins }) => origins.length));
}

function pick(effort: Effort, specs: readonly ForecastNetSpec[]): readonly ForecastNetSpec[] {
  if (effort === "thorough") return specs;
  const lengths = lengthsOf(specs);
  // Two seasons, as in the paper, or the one that there is room for; beside it the longest there is room for.
  const usual = lengths[Math.min(1, lengths.length - 1)];
  const wanted = effort === "quick" ? [usual] : [usual, lengths[lengths.length - 1]];
  const some = specs.filter(({ inputLength }) => wanted.includes(inputLength));
  // The frames most unlike: the level of all the history, and that of the moment.
  return effort === "quick" ? [some[0], some[some.length - 1]] : some;
}

/** Ascending. */
function lengthsOf(specs: readonly ForecastNetSpec[]): readonly number[] {
  return [...new Set(specs.map(({ inputLength }) => inputLength))].sort((one, other) => one - other);
}
