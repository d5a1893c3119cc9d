// Random nets, windows and rows for tests of an executor, the same on every run.

import type { TrainingSet } from "../../../../src/models/forecastnet/framing.ts";
import type { NetPlan } from "../../../../src/models/forecastnet/plan.ts";

/** Numbers between −1 and 1, the same on every run. */
export function randomNumbers(count: number, seed: number, scale = 1): Float32Array {
  let state = seed >>> 0;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return scale * (state / 2 ** 31 - 1);
  });
}

export function randomSet(plan: NetPlan, count: number, seed: number): TrainingSet {
  return {
    count,
    windows: randomNumbers(count * plan.windowSize, seed),
    targets: randomNumbers(count * plan.cells.length * plan.targets, seed + 1),
  };
}

export function randomWeights(plan: NetPlan, seed: number): Float32Array {
  return randomNumbers(plan.weightCount, seed, 0.25);
}
