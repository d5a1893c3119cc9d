// Training tasks on a sine wave, small enough for the reference executor.

import assert from "node:assert/strict";
import type { NetExecutor } from "../../../../src/engine/executor.ts";
import { fitNets } from "../../../../src/engine/fit.ts";
import { createReferenceExecutor } from "../../../../src/engine/reference/reference-executor.ts";
import type { FitOptions, FitResult, FitTask } from "../../../../src/models/forecastnet/engine.ts";
import { frameHistory } from "../../../../src/models/forecastnet/framing.ts";
import { initialWeights } from "../../../../src/models/forecastnet/initial-weights.ts";
import { planNet } from "../../../../src/models/forecastnet/plan.ts";
import { type ForecastNetSpec, specOf } from "../../../../src/models/forecastnet/spec.ts";

const cell = { kind: "dense", units: [6], activation: "relu" } as const;
export const linear = specOf("FN2", 3, { cell });
export const gaussian = specOf("FN", 3, { cell });

const sine = Float64Array.from({ length: 120 }, (_, t) => 0.5 + 0.5 * Math.sin((2 * Math.PI * t) / 12));
const unit = { offset: [0], scale: [1] };
export const training = frameHistory(linear, unit, sine, { from: 0, to: 90 });
export const validation = frameHistory(linear, unit, sine, { from: 90, to: 120 });

export const options: FitOptions = {
  seed: 1,
  batchSize: 16,
  maxEpochs: 30,
  learningRate: 1e-2,
  weightDecay: 0,
  shortcutRate: 1,
  schedule: "constant",
  stepsPerEpoch: null,
  criterion: "forced",
};

export function taskOf(changes: Partial<FitOptions> = {}, spec: ForecastNetSpec = linear, seed = 1): FitTask {
  const start = initialWeights(planNet(spec), seed);
  return { spec, start, training, validation, options: { ...options, ...changes } };
}

export function fit(
  tasks: readonly FitTask[],
  executor: NetExecutor = createReferenceExecutor(),
): readonly FitResult[] {
  const fitting = fitNets(executor, tasks);
  for (;;) {
    const { done, value } = fitting.next();
    if (done) return value;
  }
}

export function fitted(result: FitResult): Extract<FitResult, { outcome: "fitted" }> {
  if (result.outcome !== "fitted") return assert.fail(JSON.stringify(result));
  return result;
}

/** Zero weights, so that a scripted session's first weight is the number of steps. One batch per epoch. */
export function scriptedTask(changes: Partial<FitOptions> = {}): FitTask {
  const task = taskOf({ batchSize: 1000, ...changes });
  return { ...task, start: new Float32Array(task.start.length) };
}
