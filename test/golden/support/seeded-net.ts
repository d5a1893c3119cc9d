// Weights, rows and noise from a fixed seed, in single precision, so that every executor gets the same numbers.

import type { Net } from "../../../src/engine/executor.ts";
import type { TrainingSet } from "../../../src/models/forecastnet/framing.ts";
import { biasCountOf, fanInOf, weightCountOf } from "../../../src/models/forecastnet/layers.ts";
import type { NetPlan } from "../../../src/models/forecastnet/plan.ts";
import type { PathNoise } from "../../../src/models/forecastnet/sample-paths.ts";
import { sharedPlan } from "../../../src/models/forecastnet/shared-plan.ts";
import type { ForecastNetSpec } from "../../../src/models/forecastnet/spec.ts";
import { createRandom } from "../../../src/runtime/random.ts";

/** Weights of the magnitude of initial weights, and biases other than zero. */
export function seededNet(spec: ForecastNetSpec, seed: number): Net {
  const plan = sharedPlan(spec);
  const weights = new Float32Array(plan.weightCount);
  const { normal } = createRandom(seed);
  for (const { layers, mean, deviation } of plan.cells) {
    for (const layer of deviation === null ? [...layers, mean] : [...layers, mean, deviation]) {
      if (layer.kind === "pool") continue;
      const size = Math.sqrt((layer.activation === "relu" ? 2 : 1) / fanInOf(layer));
      for (let i = 0; i < weightCountOf(layer); i++) weights[layer.weightsAt + i] = size * normal();
      for (let i = 0; i < biasCountOf(layer); i++) weights[layer.biasesAt + i] = 0.1 * normal();
    }
  }
  return { plan, weights };
}

/** Windows and targets between 0 and 1, like scaled values. */
export function seededRows(plan: NetPlan, count: number, seed: number): TrainingSet {
  const { uniform } = createRandom(seed);
  return {
    count,
    windows: Float32Array.from({ length: count * plan.windowSize }, uniform),
    targets: Float32Array.from({ length: count * plan.cells.length * plan.targets }, uniform),
  };
}

/** Null for linear outputs. */
export function seededNoise(plan: NetPlan, paths: number, seed: number): PathNoise | null {
  if (plan.spec.output === "linear") return null;
  const { normal } = createRandom(seed);
  return { paths, values: Float32Array.from({ length: plan.cells.length * plan.targets * paths }, normal) };
}
