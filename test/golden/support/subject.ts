// What the golden suite tests, behind an interface in double precision: an executor, which works in single precision, or
// the functions of the reference, which do not round.

import {
  type Derivatives,
  differentiateNet,
  type Numbers,
  type Rows,
  samplePaths,
} from "../../../src/engine/reference/reference-executor.ts";
import type { NetPlan } from "../../../src/models/forecastnet/plan.ts";
import type { DifferentiatingExecutor } from "../../rig/differentiating-executors.ts";

export interface Subject {
  differentiate(plan: NetPlan, weights: Float64Array, rows: Rows): Derivatives;
  /** The free-running forecast of a linear net, [step][target]. */
  freeRun(plan: NetPlan, weights: Float64Array, window: Numbers): Numbers;
  close(): void;
}

export const referenceInDoubles: Subject = {
  differentiate: differentiateNet,
  freeRun: (plan, weights, window) => samplePaths(plan, weights, window, null).mean,
  close: () => {},
};

export function subjectOf(executor: DifferentiatingExecutor): Subject {
  return {
    differentiate(plan, weights, { count, windows, targets }) {
      const net = { plan, weights: Float32Array.from(weights) };
      const rows = { count, windows: Float32Array.from(windows), targets: Float32Array.from(targets) };
      return executor.differentiate(net, rows);
    },
    freeRun(plan, weights, window) {
      const net = { plan, weights: Float32Array.from(weights) };
      const [{ mean }] = executor.sample([{ net, window: Float32Array.from(window), noise: null }]);
      return mean;
    },
    close: () => executor.close(),
  };
}
