// Models with nets whose output the test chooses.

import assert from "node:assert/strict";
import type { NetExecutor, SampleTask } from "../../../../src/engine/executor.ts";
import { forecastModels } from "../../../../src/engine/forecast-model.ts";
import type { ForecastOptions } from "../../../../src/models/family.ts";
import type { EngineAnswer, EngineForecast } from "../../../../src/models/forecastnet/engine.ts";
import { initialWeights } from "../../../../src/models/forecastnet/initial-weights.ts";
import type { ForecastNetModel, Member } from "../../../../src/models/forecastnet/model.ts";
import { planNet } from "../../../../src/models/forecastnet/plan.ts";
import { type ForecastNetSpec, specOf } from "../../../../src/models/forecastnet/spec.ts";
import { ForecastnetError } from "../../../../src/runtime/errors.ts";

export const options: ForecastOptions = { paths: 40, levels: [0.1, 0.5, 0.9] };
export const cell = { kind: "dense", units: [4], activation: "relu" } as const;
export const spec = specOf("FN", 3, { cell, inputLength: 4 });
export const window = Float64Array.of(10, 12, 11, 14);

export function memberOf(of: ForecastNetSpec, changes: Partial<Member> = {}): Member {
  return { spec: of, weights: initialWeights(planNet(of), 1), share: 1, residuals: null, ...changes };
}

export function modelOf(
  members: readonly Member[],
  changes: Partial<ForecastNetModel> = {},
): ForecastNetModel {
  return {
    family: "forecastnet",
    key: "pump",
    version: "v3",
    scaler: { offset: [10], scale: [5] },
    members,
    spread: null,
    ...changes,
  };
}

export function isDistribution(answer: EngineAnswer): answer is EngineForecast {
  return !(answer instanceof ForecastnetError);
}

export function forecast(
  model: ForecastNetModel,
  some: Partial<ForecastOptions> = {},
  executor = still,
): EngineForecast {
  const [answer] = forecastModels(executor, [{ model, window }], { ...options, ...some });
  if (!isDistribution(answer)) throw answer;
  return answer;
}

/** Replaces the net: every path has the mean `mean` and the deviation `deviation` at every step, in net units. */
export function executorOf(
  mean: (at: { step: number; target: number; path: number }) => number,
  deviation = 1,
): NetExecutor {
  const sample = ({ net, noise }: SampleTask) => {
    const paths = noise?.paths ?? 1;
    const { targets, cells } = net.plan;
    const values = Float32Array.from({ length: cells.length * targets * paths }, (_, i) =>
      mean({
        step: Math.floor(i / paths / targets),
        target: Math.floor(i / paths) % targets,
        path: i % paths,
      }),
    );
    return { mean: values, deviation: noise && new Float32Array(values.length).fill(deviation) };
  };
  const unused = () => assert.fail("the test does not call this");
  return {
    sample: (tasks) => tasks.map(sample),
    train: unused,
    close: () => undefined,
  };
}

export const still = executorOf(() => 0);

export function assertClose(found: ArrayLike<number>, expected: readonly number[], tolerance = 1e-6): void {
  assert.equal(found.length, expected.length);
  expected.forEach((value, i) => {
    assert.ok(Math.abs(found[i] - value) <= tolerance, `at ${i}: ${found[i]}, expected ${value}`);
  });
}
