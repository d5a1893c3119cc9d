// Trains nets without a linear shortcut, as the paper has them. A net is trained on each fold, to score it and to find the best number
// of steps, and on the whole history, whose weights after that number of steps serve.

import { yieldToEventLoop } from "../../../runtime/waiting.ts";
import type { Scaler } from "../../family.ts";
import { stepsOf } from "../../folds.ts";
import type { Engine, FitOptions, FitTask } from "../engine.ts";
import type { TrainingSet } from "../framing.ts";
import { initialWeights } from "../initial-weights.ts";
import { sharedPlan } from "../shared-plan.ts";
import type { ForecastNetSpec } from "../spec.ts";
import type {
  CandidateFailure,
  CandidateResults,
  CandidatesRequest,
  TrainedCandidate,
  TrialData,
} from "./candidates-request.ts";
import { selectCheckpoint } from "./select-checkpoint.ts";
import { fitScalers, frameRows, thinRows } from "./training-rows.ts";

/** How long a net trains, and after which epochs it is scored; 0 is the start. */
const longSchedule = { epochs: 24, checkpoints: [0, 1, 2, 3, 4, 6, 8, 12, 16, 20, 24] } as const;

const fitOptions: Omit<FitOptions, "seed"> = {
  batchSize: 64,
  stepsPerEpoch: 25,
  maxEpochs: longSchedule.epochs,
  learningRate: 3e-3,
  weightDecay: 0.5,
  shortcutRate: 0.1,
  schedule: "cosine",
  criterion: "forced",
};

interface NetControl {
  readonly seed: number;
  readonly signal?: AbortSignal;
}

export async function trainTwins(
  engine: Engine,
  { specs, seed, signal }: CandidatesRequest,
  data: TrialData,
): Promise<CandidateResults> {
  const results: (TrainedCandidate | CandidateFailure)[] = [];
  for (const [i, spec] of specs.entries()) {
    const result = await trainNet(engine, spec, data, { seed: seed + i, ...(signal && { signal }) });
    if (result === "cancelled") return "cancelled";
    results.push(result);
  }
  return results;
}

async function trainNet(
  engine: Engine,
  spec: ForecastNetSpec,
  data: TrialData,
  { seed, signal }: NetControl,
): Promise<TrainedCandidate | CandidateFailure | "cancelled"> {
  const prepared = await prepareAll(spec, data, { seed, ...(signal && { signal }) });
  if (prepared === "cancelled" || "failure" in prepared) return prepared;
  const tasks = fitTasksOf(spec, prepared, seed);
  const results = await engine.fit(tasks, signal);
  const weightsBy: (readonly Float32Array[])[] = [];
  for (const [i, result] of results.entries()) {
    if (result.outcome === "cancelled") return "cancelled";
    if (result.outcome === "diverged") return { failure: result.reason };
    weightsBy.push([tasks[i].start, ...result.epochs]);
  }
  const { series, folds } = data;
  const whole = weightsBy[folds.length];
  const twins = folds.map((fold, f) => ({ fold, scaler: prepared[f].scaler, weights: weightsBy[f] }));
  // A fit that diverged has the epochs up to that in which it did.
  const epochs = longSchedule.checkpoints.filter(
    (epoch) => weightsBy.every(({ length }) => epoch < length) && whole[epoch].every(Number.isFinite),
  );
  const best = await selectCheckpoint(engine, { spec, series, twins }, { epochs, ...(signal && { signal }) });
  if (signal?.aborted) return "cancelled";
  if (best === null) return { failure: "its forecasts of the folds are not finite" };
  const { epoch, residuals, forecasts } = best;
  return { spec, weights: whole[epoch], residuals, forecasts };
}

interface Preparation {
  readonly scaler: Scaler;
  readonly rows: TrainingSet;
}

/** One for each fold, then one for the whole history. */
async function prepareAll(
  spec: ForecastNetSpec,
  { series, folds }: TrialData,
  { seed, signal }: NetControl,
): Promise<readonly Preparation[] | CandidateFailure | "cancelled"> {
  const prepared: Preparation[] = [];
  const parts = [...folds.map(({ trainTo }) => trainTo), series.map((one) => stepsOf(one, spec.channels))];
  for (const [i, ends] of parts.entries()) {
    if (signal?.aborted) return "cancelled";
    const scalers = fitScalers(series, spec, ends);
    const rows = frameRows(series, { spec, scalers, ends, seed });
    if (rows.count === 0) {
      const needed = `${spec.inputLength} + ${spec.horizon} unbroken steps`;
      return { failure: `part ${i + 1} of ${parts.length} of the history holds no ${needed}` };
    }
    prepared.push({ scaler: scalers.served, rows });
    await yieldToEventLoop();
  }
  return prepared;
}

function fitTasksOf(
  spec: ForecastNetSpec,
  prepared: readonly Preparation[],
  seed: number,
): readonly FitTask[] {
  const start = initialWeights(sharedPlan(spec), seed);
  const validation = thinRows(prepared[prepared.length - 1].rows, spec, 64);
  const options = { ...fitOptions, seed };
  return prepared.map(({ rows }) => ({ spec, start, training: rows, validation, options }));
}
