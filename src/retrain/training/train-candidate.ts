// Trains one candidate: on each fold, to see how good it is and after how many steps it is best, and on the whole
// history, whose weights after just as many steps are the ones that serve.

import type { Engine, FitOptions, FitTask } from "../../engine/engine.ts";
import type { TrainingSet } from "../../models/forecastnet/framing.ts";
import { initialWeights } from "../../models/forecastnet/initial-weights.ts";
import type { Scaler } from "../../models/forecastnet/model.ts";
import { sharedPlan } from "../../models/forecastnet/shared-plan.ts";
import type { ForecastNetSpec } from "../../models/forecastnet/spec.ts";
import type { JudgedForecasts } from "./atoms.ts";
import { breathe } from "./breathe.ts";
import type { Fold } from "./folds.ts";
import { frameRows, thinRows } from "./framed-rows.ts";
import { chooseRule, type LinearRule } from "./linear-map.ts";
import { linearStart } from "./linear-start.ts";
import { fitScalers } from "./scalers.ts";
import { selectCheckpoint } from "./select-checkpoint.ts";
import { type MeasuredSeries, stepsOf } from "./training-series.ts";

export interface TrainedCandidate {
  readonly spec: ForecastNetSpec;
  /** Trained on the whole history, for the scaler of the whole history. */
  readonly weights: Float32Array;
  /** Linear outputs only, as a member has them. */
  readonly residuals: Float32Array | null;
  /** What its twins that had not seen the folds forecast there. */
  readonly judged: JudgedForecasts;
  readonly steps: number;
}

export type CandidateResult =
  | TrainedCandidate
  | { readonly failure: string }
  /** The caller's signal fired. */
  | "cancelled";

/** How long a candidate trains, and when it is looked at; in epochs, 0 being the linear start. */
export interface Schedule {
  readonly epochs: number;
  readonly checkpoints: readonly number[];
}

export const longSchedule: Schedule = { epochs: 24, checkpoints: [0, 1, 2, 3, 4, 6, 8, 12, 16, 20, 24] };

const stepsPerEpoch = 25;

const fitOptions: Omit<FitOptions, "seed" | "maxEpochs" | "patience"> = {
  batchSize: 64,
  stepsPerEpoch,
  learningRates: [3e-3],
  searchEpochs: 1,
  weightDecay: 0.5,
  shortcutRate: 0.1,
  schedule: "cosine",
  keepsEpochs: true,
  criterion: "forced",
};

/** What all candidates are trained on and judged by. */
export interface Ground {
  readonly series: readonly MeasuredSeries[];
  readonly folds: readonly Fold[];
  readonly schedule: Schedule;
}

export interface CandidateControl {
  readonly seed: number;
  readonly signal?: AbortSignal;
}

interface Preparation {
  readonly scaler: Scaler;
  readonly rows: TrainingSet;
  readonly start: Float32Array;
  readonly rule: LinearRule;
}

export async function trainCandidate(
  engine: Engine,
  spec: ForecastNetSpec,
  ground: Ground,
  control: CandidateControl,
): Promise<CandidateResult> {
  const preparation = await prepareAll(spec, ground, control);
  if (preparation === "cancelled" || "failure" in preparation) return preparation;
  const { prepared } = preparation;
  const tasks = fitTasksOf(spec, prepared, ground.schedule, control.seed);
  const results = await engine.fit(tasks, control.signal && { signal: control.signal });
  const weightsBy: (readonly Float32Array[])[] = [];
  for (const [i, result] of results.entries()) {
    if (result.outcome === "cancelled") return "cancelled";
    if (result.outcome === "diverged") return { failure: result.reason };
    weightsBy.push([tasks[i].start, ...result.epochs]);
  }
  const { series, folds, schedule } = ground;
  const twins = folds.map((fold, f) => ({ fold, scaler: prepared[f].scaler, weights: weightsBy[f] }));
  // A fit that went wrong on its way has kept the epochs before, and the one in which it did.
  const epochs = schedule.checkpoints.filter(
    (epoch) =>
      weightsBy.every(({ length }) => epoch < length) &&
      weightsBy[folds.length][epoch].every(Number.isFinite),
  );
  const { signal } = control;
  const best = await selectCheckpoint(engine, { spec, series, twins }, { epochs, ...(signal && { signal }) });
  if (signal?.aborted) return "cancelled";
  if (best === null) return { failure: "its forecasts of the folds are not finite" };
  const { epoch, residuals, judged } = best;
  return { spec, weights: weightsBy[folds.length][epoch], residuals, judged, steps: epoch * stepsPerEpoch };
}

/** One for each fold, and last the one for all of the history. */
async function prepareAll(
  spec: ForecastNetSpec,
  { series, folds }: Ground,
  { seed, signal }: CandidateControl,
): Promise<{ readonly prepared: readonly Preparation[] } | Exclude<CandidateResult, TrainedCandidate>> {
  const prepared: Preparation[] = [];
  const ends = [...folds.map(({ trainTo }) => trainTo), series.map((one) => stepsOf(one, spec.channels))];
  for (const [i, end] of ends.entries()) {
    if (signal?.aborted) return "cancelled";
    // The whole history is not judged on; it gets the rule that the longest part of it chose.
    const known = i < folds.length ? null : prepared[i - 1].rule;
    const preparation = prepare(spec, series, end, { seed, known });
    if (preparation === null) {
      const needed = `${spec.inputLength} + ${spec.horizon} unbroken steps`;
      return { failure: `part ${i + 1} of ${ends.length} of the history holds no ${needed}` };
    }
    prepared.push(preparation);
    await breathe();
  }
  return { prepared };
}

function prepare(
  spec: ForecastNetSpec,
  series: readonly MeasuredSeries[],
  ends: readonly number[],
  { seed, known }: { readonly seed: number; readonly known: LinearRule | null },
): Preparation | null {
  const plan = sharedPlan(spec);
  const scalers = fitScalers(series, spec.channels, ends);
  const rows = frameRows(series, { spec, scalers, ends, seed });
  if (rows.count === 0) return null;
  const rule = known ?? chooseRule(plan, rows);
  const start = spec.shortcut === "linear" ? linearStart(plan, rows, rule, seed) : initialWeights(plan, seed);
  return { scaler: scalers.served, rows, rule, start };
}

function fitTasksOf(
  spec: ForecastNetSpec,
  prepared: readonly Preparation[],
  { epochs }: Schedule,
  seed: number,
): readonly FitTask[] {
  const validation = thinRows(prepared[prepared.length - 1].rows, spec, 64);
  const options = { ...fitOptions, maxEpochs: epochs, patience: epochs, seed };
  return prepared.map(({ rows, start }) => ({ spec, start, training: rows, validation, options }));
}
