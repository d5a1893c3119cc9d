// Trains one candidate: on each fold, to see how good it is and after how many steps it is best, and on the whole
// history, whose weights after just as many steps are the ones that serve.

import type { Engine, FitControl, FitOptions, FitTask } from "../engine/engine.ts";
import { type FramedHistory, frameHistory, type TrainingSet } from "../models/forecastnet/framing.ts";
import { initialWeights } from "../models/forecastnet/initial-weights.ts";
import type { ForecastNetModel, Scaler } from "../models/forecastnet/model.ts";
import { fitScaler } from "../models/forecastnet/scaler.ts";
import { sharedPlan } from "../models/forecastnet/shared-plan.ts";
import type { ForecastNetSpec } from "../models/forecastnet/spec.ts";
import { crpsOf, type JudgedForecasts } from "./atoms.ts";
import { type Fold, joinJudged, judge } from "./folds.ts";
import { chooseRule, type LinearRule } from "./linear-map.ts";
import { linearStart } from "./linear-start.ts";
import { heldOutErrors, noResiduals, residualTable } from "./residuals.ts";

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

const stepsPerEpoch = 25;
/** In epochs; 0 is the linear start. */
const checkpoints = [0, 1, 2, 3, 4, 6, 8, 12, 16, 20, 24];
const lastEpoch = 24;

const fitOptions: Omit<FitOptions, "seed"> = {
  batchSize: 64,
  stepsPerEpoch,
  maxEpochs: lastEpoch,
  patience: lastEpoch,
  learningRates: [3e-3],
  searchEpochs: 1,
  weightDecay: 0.5,
  shortcutRate: 0.1,
  schedule: "cosine",
  keepsEpochs: true,
  criterion: "forced",
};

interface Preparation {
  readonly scaler: Scaler;
  readonly rows: FramedHistory;
  readonly start: Float32Array;
  readonly rule: LinearRule;
}

export async function trainCandidate(
  engine: Engine,
  spec: ForecastNetSpec,
  history: Float64Array,
  folds: readonly Fold[],
  { seed, ...control }: FitControl & { readonly seed: number },
): Promise<CandidateResult> {
  const steps = history.length / spec.channels;
  const twins: Preparation[] = [];
  for (const { trainTo } of folds) {
    twins.push(prepare(spec, history, trainTo, seed, null));
    await breath();
  }
  const whole = prepare(spec, history, steps, seed, twins[twins.length - 1].rule);
  const validation = thin(whole.rows, spec, 64);
  const tasks = [...twins, whole].map(({ rows, start }): FitTask => {
    return { spec, start, training: rows, validation, options: { ...fitOptions, seed } };
  });
  const results = await engine.fit(tasks, control);
  const weightsBy: (readonly Float32Array[])[] = [];
  for (const [i, result] of results.entries()) {
    if (result.outcome === "cancelled") return "cancelled";
    if (result.outcome === "diverged") return { failure: result.reason };
    weightsBy.push([tasks[i].start, ...result.epochs]);
  }
  return select(engine, spec, history, folds, twins, weightsBy);
}

function prepare(
  spec: ForecastNetSpec,
  history: Float64Array,
  to: number,
  seed: number,
  known: LinearRule | null,
): Preparation {
  const plan = sharedPlan(spec);
  const scaler = fitScaler(history, spec.channels, 0, to, "deviation");
  const rows = frameHistory(spec, scaler, history, { from: 0, to });
  const rule = known ?? chooseRule(plan, rows);
  const start = spec.shortcut === "linear" ? linearStart(plan, rows, rule, seed) : initialWeights(plan, seed);
  return { scaler, rows, rule, start };
}

/** The checkpoint that is best on all folds together. */
async function select(
  engine: Engine,
  spec: ForecastNetSpec,
  history: Float64Array,
  folds: readonly Fold[],
  twins: readonly Preparation[],
  weightsBy: readonly (readonly Float32Array[])[],
): Promise<TrainedCandidate> {
  const modelAt = (f: number, checkpoint: number, residuals: Float32Array | null): ForecastNetModel => {
    const members = [{ spec, weights: weightsBy[f][checkpoint], share: 1, residuals }];
    return { key: "candidate", version: String(checkpoint), scaler: twins[f].scaler, members, spread: null };
  };
  const point = noResiduals(spec);
  let best: { crps: number; checkpoint: number; parts: readonly JudgedForecasts[] } | null = null;
  for (const checkpoint of checkpoints) {
    const parts: JudgedForecasts[] = [];
    for (const [f, fold] of folds.entries()) {
      parts.push(await judge(engine, modelAt(f, checkpoint, point), history, fold));
    }
    const crps = parts.reduce((sum, part) => sum + crpsOf(part), 0);
    if (best === null || crps < best.crps) best = { crps, checkpoint, parts };
  }
  const { checkpoint, parts } = best as NonNullable<typeof best>;
  const trained = { spec, weights: weightsBy[folds.length][checkpoint], steps: checkpoint * stepsPerEpoch };
  if (point === null) return { ...trained, residuals: null, judged: joinJudged(parts) };
  const rows = point.length;
  const errors: Float32Array[] = [];
  for (const [f, fold] of folds.entries()) {
    errors.push(await heldOutErrors(engine, modelAt(f, checkpoint, point), history, fold));
  }
  const spreadParts: JudgedForecasts[] = [];
  for (const [f, fold] of folds.entries()) {
    // A fold must not be judged by its own errors.
    const others = residualTable(
      errors.filter((_, other) => other !== f),
      rows,
    );
    spreadParts.push(await judge(engine, modelAt(f, checkpoint, others), history, fold));
  }
  return { ...trained, residuals: residualTable(errors, rows), judged: joinJudged(spreadParts) };
}

/** About `count` rows, evenly spaced. */
function thin(rows: FramedHistory, spec: ForecastNetSpec, count: number): TrainingSet {
  const { windowSize, targets } = sharedPlan(spec);
  const outputs = spec.horizon * targets;
  const stride = Math.max(1, Math.floor(rows.count / count));
  const kept = Math.ceil(rows.count / stride);
  const windows = new Float32Array(kept * windowSize);
  const wanted = new Float32Array(kept * outputs);
  for (let i = 0; i < kept; i++) {
    const row = i * stride;
    windows.set(rows.windows.subarray(row * windowSize, (row + 1) * windowSize), i * windowSize);
    wanted.set(rows.targets.subarray(row * outputs, (row + 1) * outputs), i * outputs);
  }
  return { count: kept, windows, targets: wanted };
}

/** The closed-form start is worked out on this thread; others get their turn in between. */
function breath(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
