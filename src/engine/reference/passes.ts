// Passes over many windows: the gradient and the loss of a set of rows, and the sample paths of one window. They
// take single or double precision and compute in double.

import type { NetPlan } from "../../models/forecastnet/plan.ts";
import type { Criterion, Derivatives } from "../executor.ts";
import { backpropagate, type Feed, feedMeans, feedTargets, runNet, sumLoss } from "./net.ts";

export type Numbers = Float32Array | Float64Array;

/** A training set of either precision: windows [row][windowSize], targets [row][step][target]. */
export interface Rows {
  readonly count: number;
  readonly windows: Numbers;
  readonly targets: Numbers;
}

/** The teacher-forced pass over the rows and the gradient of its mean loss. */
export function differentiateNet(plan: NetPlan, weights: Numbers, rows: Rows): Derivatives {
  const w = Float64Array.from(weights);
  const size = plan.cells.length * plan.targets;
  const mean = new Float64Array(size * rows.count);
  const deviation = plan.spec.output === "gaussian" ? new Float64Array(size * rows.count) : null;
  const gradient = new Float64Array(plan.weightCount);
  const scale = 1 / (size * rows.count);
  let loss = 0;
  for (let row = 0; row < rows.count; row++) {
    const { x, targets } = rowOf(plan, rows, row);
    const traces = runNet(plan, w, x, feedTargets(targets, plan.targets));
    loss += scale * sumLoss(plan, traces, targets);
    backpropagate(plan, w, traces, { targets, scale }, gradient);
    for (const [step, trace] of traces.entries()) {
      for (let t = 0; t < plan.targets; t++) {
        const at = (step * plan.targets + t) * rows.count + row;
        mean[at] = trace.mean[t];
        if (deviation !== null && trace.deviation !== null) deviation[at] = trace.deviation[t];
      }
    }
  }
  return { mean, deviation, loss, gradient };
}

/** The mean loss over the rows. */
export function lossOfNet(plan: NetPlan, weights: Numbers, rows: Rows, criterion: Criterion): number {
  const w = Float64Array.from(weights);
  let sum = 0;
  for (let row = 0; row < rows.count; row++) {
    const { x, targets } = rowOf(plan, rows, row);
    const feed = criterion === "forced" ? feedTargets(targets, plan.targets) : feedMeans;
    sum += sumLoss(plan, runNet(plan, w, x, feed), targets);
  }
  return sum / (rows.count * plan.cells.length * plan.targets);
}

/** The rows of a set with these numbers, in this order. */
export function pickRows(plan: NetPlan, rows: Rows, indices: Int32Array): Rows {
  const picked = Array.from(indices, (index) => rowOf(plan, rows, index));
  const windows = new Float64Array(indices.length * plan.windowSize);
  const targets = new Float64Array(indices.length * plan.cells.length * plan.targets);
  for (const [i, row] of picked.entries()) {
    windows.set(row.x, i * plan.windowSize);
    targets.set(row.targets, i * plan.cells.length * plan.targets);
  }
  return { count: indices.length, windows, targets };
}

/** Draws that drive the paths, [step][target][path]; null for linear outputs, which have one path. */
export type Draws = { readonly paths: number; readonly values: Numbers } | null;

/** Every path feeds its own sample μ + σ·z, or its own output, to the next cell. Arrays are [step][target][path]. */
export function samplePaths(
  plan: NetPlan,
  weights: Numbers,
  window: Numbers,
  draws: Draws,
): { readonly mean: Float64Array; readonly deviation: Float64Array | null } {
  const w = Float64Array.from(weights);
  const x = Float64Array.from(window);
  const P = draws === null ? 1 : draws.paths;
  const mean = new Float64Array(plan.cells.length * plan.targets * P);
  const deviation = plan.spec.output === "gaussian" ? new Float64Array(mean.length) : null;
  for (let path = 0; path < P; path++) {
    const feed: Feed = ({ mean: μ, deviation: σ }, step) =>
      μ.map((_, t) => {
        const at = (step * plan.targets + t) * P + path;
        mean[at] = μ[t];
        if (deviation === null || σ === null || draws === null) return μ[t];
        deviation[at] = σ[t];
        return μ[t] + σ[t] * draws.values[at];
      });
    runNet(plan, w, x, feed);
  }
  return { mean, deviation };
}

function rowOf(plan: NetPlan, rows: Rows, row: number): { x: Float64Array; targets: Float64Array } {
  const size = plan.cells.length * plan.targets;
  return {
    x: Float64Array.from(rows.windows.subarray(row * plan.windowSize, (row + 1) * plan.windowSize)),
    targets: Float64Array.from(rows.targets.subarray(row * size, (row + 1) * size)),
  };
}
