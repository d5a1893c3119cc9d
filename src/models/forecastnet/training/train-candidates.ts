// Trains the candidates for a model: on each fold, to score them and to find the best number of steps, and on the whole
// history, whose weights after that number of steps serve. Everything is chosen on the given history alone.

import { yieldToEventLoop } from "../../../runtime/waiting.ts";
import type { Scaler, TrainingSeries } from "../../family.ts";
import { type Fold, foldsOf, type MeasuredSeries, measureSeries, stepsOf } from "../../folds.ts";
import type { HeldOutForecasts } from "../../held-out.ts";
import type { Engine, FitOptions, FitTask } from "../engine.ts";
import type { TrainingSet } from "../framing.ts";
import { initialWeights } from "../initial-weights.ts";
import { sharedPlan } from "../shared-plan.ts";
import type { ForecastNetSpec } from "../spec.ts";
import { linearStart } from "./linear-start.ts";
import { selectCheckpoint } from "./select-checkpoint.ts";
import { chooseRule, type ShortcutRule } from "./shortcut-map.ts";
import { fitScalers, frameRows, thinRows } from "./training-rows.ts";

export interface CandidatesRequest {
  /** Nets to try, all for the same horizon, channels and targets. */
  readonly specs: readonly ForecastNetSpec[];
  /** One series, or the members of a cohort, which need frames that remove level and scale. */
  readonly series: readonly TrainingSeries[];
  readonly seed: number;
  readonly schedule?: FitSchedule;
  readonly signal?: AbortSignal;
}

export type CandidatesResult =
  | { readonly outcome: "trained"; readonly candidates: readonly TrainedCandidate[] }
  | { readonly outcome: "failed"; readonly reason: string }
  | { readonly outcome: "cancelled" };

export async function trainCandidates(engine: Engine, request: CandidatesRequest): Promise<CandidatesResult> {
  const { specs, series, schedule = longSchedule } = request;
  if (specs.length === 0) return failed("there is no candidate: the history is too short for any net");
  const { horizon, channels } = specs[0];
  const longest = Math.max(...specs.map(({ inputLength }) => inputLength));
  const folds = foldsOf(series, { horizon, channels, longest });
  if (folds.some(({ origins }) => origins.length === 0)) {
    const steps = Math.max(...series.map((one) => stepsOf(one, channels)));
    const whose = series.length === 1 ? "the history" : `any of ${series.length} histories`;
    const needed = `${longest} + ${horizon} unbroken steps`;
    return failed(`the last two fifths of ${whose}, ${steps} steps in all, do not each hold ${needed}`);
  }
  const measured = series.map((one) => measureSeries(one, channels));
  const results = await trainAll(engine, request, { series: measured, folds, schedule });
  if (results.includes("cancelled")) return { outcome: "cancelled" };
  const candidates = results.filter(isTrained);
  if (candidates.length > 0) return { outcome: "trained", candidates };
  const reasons = results.flatMap((result) =>
    result !== "cancelled" && "failure" in result ? result.failure : [],
  );
  return failed(`no candidate could be trained; the first one: ${reasons[0]}`);
}

function failed(reason: string): CandidatesResult {
  return { outcome: "failed", reason };
}

function isTrained(result: CandidateResult): result is TrainedCandidate {
  return result !== "cancelled" && "weights" in result;
}

async function trainAll(
  engine: Engine,
  { specs, seed, signal }: CandidatesRequest,
  data: TrialData,
): Promise<readonly CandidateResult[]> {
  const results: CandidateResult[] = [];
  for (const [i, spec] of specs.entries()) {
    const control: CandidateControl = { seed: seed + i, ...(signal && { signal }) };
    results.push(signal?.aborted ? "cancelled" : await trainCandidate(engine, spec, data, control));
  }
  return results;
}

export interface TrainedCandidate {
  readonly spec: ForecastNetSpec;
  /** Trained on the whole history, with its scaler. */
  readonly weights: Float32Array;
  /** As of a `Member`. */
  readonly residuals: Float32Array | null;
  /** Forecasts of its twins at the origins of their folds. */
  readonly forecasts: HeldOutForecasts;
  readonly steps: number;
}

export type CandidateResult =
  | TrainedCandidate
  | { readonly failure: string }
  /** The signal fired. */
  | "cancelled";

/** How long a candidate trains, and after which epochs it is scored; 0 is the start. */
export interface FitSchedule {
  readonly epochs: number;
  readonly checkpoints: readonly number[];
}

export const longSchedule: FitSchedule = { epochs: 24, checkpoints: [0, 1, 2, 3, 4, 6, 8, 12, 16, 20, 24] };

const stepsPerEpoch = 25;

const fitOptions: Omit<FitOptions, "seed" | "maxEpochs"> = {
  batchSize: 64,
  stepsPerEpoch,
  learningRate: 3e-3,
  weightDecay: 0.5,
  shortcutRate: 0.1,
  schedule: "cosine",
  criterion: "forced",
};

/** Shared by all candidates. */
export interface TrialData {
  readonly series: readonly MeasuredSeries[];
  readonly folds: readonly Fold[];
  readonly schedule: FitSchedule;
}

export interface CandidateControl {
  readonly seed: number;
  readonly signal?: AbortSignal;
}

interface Preparation {
  readonly scaler: Scaler;
  readonly rows: TrainingSet;
  readonly start: Float32Array;
  readonly rule: ShortcutRule;
}

export async function trainCandidate(
  engine: Engine,
  spec: ForecastNetSpec,
  data: TrialData,
  control: CandidateControl,
): Promise<CandidateResult> {
  const preparation = await prepareAll(spec, data, control);
  if (preparation === "cancelled" || "failure" in preparation) return preparation;
  const { prepared } = preparation;
  const tasks = fitTasksOf(spec, prepared, data.schedule, control.seed);
  const results = await engine.fit(tasks, control.signal);
  const weightsBy: (readonly Float32Array[])[] = [];
  for (const [i, result] of results.entries()) {
    if (result.outcome === "cancelled") return "cancelled";
    if (result.outcome === "diverged") return { failure: result.reason };
    weightsBy.push([tasks[i].start, ...result.epochs]);
  }
  const { series, folds, schedule } = data;
  const twins = folds.map((fold, f) => ({ fold, scaler: prepared[f].scaler, weights: weightsBy[f] }));
  // A fit that diverged has the epochs up to that in which it did.
  const epochs = schedule.checkpoints.filter(
    (epoch) =>
      weightsBy.every(({ length }) => epoch < length) &&
      weightsBy[folds.length][epoch].every(Number.isFinite),
  );
  const { signal } = control;
  const best = await selectCheckpoint(engine, { spec, series, twins }, { epochs, ...(signal && { signal }) });
  if (signal?.aborted) return "cancelled";
  if (best === null) return { failure: "its forecasts of the folds are not finite" };
  const { epoch, residuals, forecasts } = best;
  return {
    spec,
    weights: weightsBy[folds.length][epoch],
    residuals,
    forecasts,
    steps: epoch * stepsPerEpoch,
  };
}

/** One for each fold, then one for the whole history. */
async function prepareAll(
  spec: ForecastNetSpec,
  { series, folds }: TrialData,
  { seed, signal }: CandidateControl,
): Promise<{ readonly prepared: readonly Preparation[] } | Exclude<CandidateResult, TrainedCandidate>> {
  const prepared: Preparation[] = [];
  const ends = [...folds.map(({ trainTo }) => trainTo), series.map((one) => stepsOf(one, spec.channels))];
  for (const [i, end] of ends.entries()) {
    if (signal?.aborted) return "cancelled";
    // Nothing is left to choose a rule for the whole history on: it gets that of the longest part.
    const known = i < folds.length ? null : prepared[i - 1].rule;
    const preparation = prepare(spec, series, end, { seed, known });
    if (preparation === null) {
      const needed = `${spec.inputLength} + ${spec.horizon} unbroken steps`;
      return { failure: `part ${i + 1} of ${ends.length} of the history holds no ${needed}` };
    }
    prepared.push(preparation);
    await yieldToEventLoop();
  }
  return { prepared };
}

function prepare(
  spec: ForecastNetSpec,
  series: readonly MeasuredSeries[],
  ends: readonly number[],
  { seed, known }: { readonly seed: number; readonly known: ShortcutRule | null },
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
  { epochs }: FitSchedule,
  seed: number,
): readonly FitTask[] {
  const validation = thinRows(prepared[prepared.length - 1].rows, spec, 64);
  const options = { ...fitOptions, maxEpochs: epochs, seed };
  return prepared.map(({ rows, start }) => ({ spec, start, training: rows, validation, options }));
}
