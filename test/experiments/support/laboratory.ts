// What the paper's experiments share: its two synthetic series, an engine, and training and scoring as it describes.
//
// Legend: τ = 20 is the season and the horizon, f = 1/τ.

import type { Engine, FitOptions } from "../../../src/engine/engine.ts";
import { createInProcessEngine } from "../../../src/engine/in-process-engine.ts";
import { loadKernel } from "../../../src/engine/simd/kernel.ts";
import { createSimdExecutor } from "../../../src/engine/simd/simd-executor.ts";
import { frameHistory } from "../../../src/models/forecastnet/framing.ts";
import { initialWeights } from "../../../src/models/forecastnet/initial-weights.ts";
import type { ForecastNetModel } from "../../../src/models/forecastnet/model.ts";
import { planNet } from "../../../src/models/forecastnet/plan.ts";
import { fitScaler } from "../../../src/models/forecastnet/scaler.ts";
import type { ForecastNetSpec } from "../../../src/models/forecastnet/spec.ts";

export const τ = 20;
const length = 4_320;

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

export async function openEngine(): Promise<Engine> {
  const executor = createSimdExecutor(await loadKernel());
  return createInProcessEngine(executor, { name: "simd", device: "cpu", threads: 0, detail: "in process" });
}

/** Where the test part begins: the last tenth, as in the paper. */
export function testFrom(series: Float64Array): number {
  return Math.floor(series.length * 0.9);
}

/** Trains with a falling rate, each phase going on from the best weights of the one before. */
export async function trainOn(
  engine: Engine,
  series: Float64Array,
  spec: ForecastNetSpec,
  phases: readonly Partial<FitOptions>[],
): Promise<ForecastNetModel> {
  const end = testFrom(series);
  const validFrom = end - 300;
  const scaler = fitScaler(series, spec.channels, 0, validFrom);
  const training = frameHistory(spec, scaler, series, { from: 0, to: validFrom });
  const validation = frameHistory(spec, scaler, series, { from: validFrom, to: end });
  let weights = initialWeights(planNet(spec), 1);
  for (const phase of phases) {
    const options: FitOptions = { ...defaults, ...phase };
    const [result] = await engine.fit([{ spec, start: weights, training, validation, options }]);
    if (result.outcome !== "fitted") throw new Error(`training ended as ${result.outcome}`);
    weights = result.weights;
  }
  const steps = spec.horizon * spec.targets.length;
  const residuals = spec.output === "linear" ? new Float32Array(steps) : null;
  return {
    key: "experiment",
    version: "1",
    scaler,
    members: [{ spec, weights, share: 1, residuals }],
    spread: null,
  };
}

const defaults: FitOptions = {
  seed: 1,
  batchSize: 64,
  maxEpochs: 30,
  patience: 30,
  learningRates: [1e-3],
  searchEpochs: 1,
  weightDecay: 0,
  shortcutRate: 1,
  schedule: "constant", stepsPerEpoch: null, keepsEpochs: false,
  criterion: "free",
};

/** Mean absolute error of the mean forecasts at the given origins, over the paper's denominator inside the targets. */
export async function maseAt(
  engine: Engine,
  model: ForecastNetModel,
  series: Float64Array,
  origins: readonly number[],
): Promise<number> {
  const { inputLength, horizon } = model.members[0].spec;
  const tasks = origins.map((origin) => ({ model, window: series.slice(origin - inputLength, origin) }));
  const answers = await engine.forecast(tasks, { paths: 100, levels: [0.5], keepPaths: false });
  let sum = 0;
  for (const [i, answer] of answers.entries()) {
    if (answer instanceof Error) throw answer;
    sum += maseOf(answer.mean, series.subarray(origins[i], origins[i] + horizon));
  }
  return sum / origins.length;
}

export function maseOf(forecast: ArrayLike<number>, actual: Float64Array): number {
  let error = 0;
  let naive = 0;
  for (let h = 0; h < actual.length; h++) {
    error += Math.abs(forecast[h] - actual[h]) / actual.length;
    if (h > 0) naive += Math.abs(actual[h] - actual[h - 1]) / (actual.length - 1);
  }
  return error / naive;
}
