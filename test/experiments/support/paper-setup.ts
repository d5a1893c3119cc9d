// The setup of the paper's experiments: its two synthetic series, an engine, and training and scoring as it describes.
// The nets are the plain forms of the paper: [0, 1] scaling, no framing, no shortcut, no ensemble.
//
// Legend: τ = 20 is the season and the horizon, f = 1/τ. Both series have no noise. The first repeats every 100 points,
// the modulated one every 600.

import type { NetExecutor } from "../../../src/engine/executor.ts";
import { createInProcessEngine } from "../../../src/engine/in-process-engine.ts";
import { loadKernel } from "../../../src/engine/simd/kernel.ts";
import type { Scaler } from "../../../src/models/family.ts";
import type { Engine, FitOptions } from "../../../src/models/forecastnet/engine.ts";
import { frameHistory } from "../../../src/models/forecastnet/framing.ts";
import { initialWeights } from "../../../src/models/forecastnet/initial-weights.ts";
import type { ForecastNetModel } from "../../../src/models/forecastnet/model.ts";
import { planNet } from "../../../src/models/forecastnet/plan.ts";
import type { ForecastNetSpec } from "../../../src/models/forecastnet/spec.ts";
import { type DifferentiatingExecutor, simdExecutor } from "../../rig/differentiating-executors.ts";

export const τ = 20;
const length = 4_320;
/** The last points of the training part: a whole period of either series. */
const validationPoints = 600;

/** 2 sin(2πft) + ⅓ sin(2πft/5) */
export function syntheticSeries(): Float64Array {
  return Float64Array.from({ length }, (_, t) => {
    const phase = (2 * Math.PI * t) / τ;
    return 2 * Math.sin(phase) + Math.sin(phase / 5) / 3;
  });
}

/** ½ sin(2πft/6) · (⅗ sin(2πft) + ⅕ sin(2πft/5)): the amplitude repeats only after six seasons. */
export function modulatedSeries(): Float64Array {
  return Float64Array.from({ length }, (_, t) => {
    const phase = (2 * Math.PI * t) / τ;
    return 0.5 * Math.sin(phase / 6) * (0.6 * Math.sin(phase) + 0.2 * Math.sin(phase / 5));
  });
}

export async function openExecutor(): Promise<DifferentiatingExecutor> {
  return simdExecutor(await loadKernel());
}

export async function openEngine(executor?: NetExecutor): Promise<Engine> {
  const description = { name: "simd", device: "cpu", threads: 0, detail: "in process" } as const;
  return createInProcessEngine(executor ?? (await openExecutor()), description);
}

/** Where the test part begins: the last tenth, as in the paper. */
export function testFrom(series: Float64Array): number {
  return Math.floor(series.length * 0.9);
}

/** First step of every forecast of the test part. Its window of 2τ is in that part, too, as in the paper. */
export function testOrigins(series: Float64Array): number[] {
  const first = testFrom(series) + 2 * τ;
  return Array.from({ length: series.length - τ - first + 1 }, (_, i) => first + i);
}

/** Scales to [0, 1]. */
export function rangeScaler(values: Float64Array): Scaler {
  const low = Math.min(...values);
  return { offset: [low], scale: [Math.max(...values) - low] };
}

/** The training part in the net's units, with its tail for validation. */
export function frameTrainingPart(spec: ForecastNetSpec, series: Float64Array) {
  const end = testFrom(series);
  const validFrom = end - validationPoints;
  const scaler = rangeScaler(series.subarray(0, validFrom));
  return {
    scaler,
    training: frameHistory(spec, scaler, series, { from: 0, to: validFrom }),
    validation: frameHistory(spec, scaler, series, { from: validFrom, to: end }),
  };
}

export type TrainingSettings = Pick<FitOptions, "batchSize" | "maxEpochs"> & {
  readonly rate: number;
  readonly seed: number;
};

/** One run of Adam with a learning rate that falls to zero, from weights drawn from the seed. */
export async function trainOn(
  engine: Engine,
  series: Float64Array,
  spec: ForecastNetSpec,
  { batchSize, maxEpochs, rate, seed }: TrainingSettings,
): Promise<ForecastNetModel> {
  const { scaler, training, validation } = frameTrainingPart(spec, series);
  const options: FitOptions = {
    seed,
    batchSize,
    maxEpochs,
    learningRate: rate,
    stepsPerEpoch: null,
    weightDecay: 0,
    shortcutRate: 1,
    schedule: "cosine",
    criterion: "free",
  };
  const start = initialWeights(planNet(spec), seed);
  const [result] = await engine.fit([{ spec, start, training, validation, options }]);
  if (result.outcome !== "fitted") throw new Error(`training ended as ${result.outcome}`);
  return modelOf(spec, scaler, result.weights);
}

export function modelOf(spec: ForecastNetSpec, scaler: Scaler, weights: Float32Array): ForecastNetModel {
  const steps = spec.horizon * spec.targets.length;
  // They only widen a linear net's forecast, and only means are scored.
  const residuals = spec.output === "linear" ? new Float32Array(steps) : null;
  const member = { spec, weights, share: 1, residuals };
  return { family: "forecastnet", key: "experiment", version: "1", scaler, members: [member], spread: null };
}

/** MASE of the mean forecast (over 100 paths where the output is Gaussian) at each origin. */
export async function masesAt(
  engine: Engine,
  model: ForecastNetModel,
  series: Float64Array,
  origins: readonly number[],
): Promise<number[]> {
  const { inputLength, horizon } = model.members[0].spec;
  const tasks = origins.map((origin) => ({ model, window: series.slice(origin - inputLength, origin) }));
  const answers = await engine.forecast(tasks, { paths: 100, levels: [0.5] });
  return answers.map((answer, i) => {
    if (answer instanceof Error) throw answer;
    return maseOf(answer.mean, series.subarray(origins[i], origins[i] + horizon));
  });
}

export function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The paper's definition: the naive error in the denominator is that inside the target window. */
function maseOf(forecast: ArrayLike<number>, actual: Float64Array): number {
  let error = 0;
  let naive = 0;
  for (let h = 0; h < actual.length; h++) {
    error += Math.abs(forecast[h] - actual[h]) / actual.length;
    if (h > 0) naive += Math.abs(actual[h] - actual[h - 1]) / (actual.length - 1);
  }
  return error / naive;
}
