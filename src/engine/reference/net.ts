// The whole net on one window: the cells in a row, what is fed from each output into the next cell, and the way
// back through all of them.
//
// Legend: T targets, τ cells; x the window; u = [x, h′, y′] a cell's input (the first cell sees x only); μ, σ, y
// [T] at a step. Training feeds the true y forward (it is data: no slope flows back through it), forecasting feeds
// what the net itself produced.

import type { NetPlan } from "../../models/forecastnet/plan.ts";
import { backwardCell, type CellTrace, forwardCell, joined, outputOf } from "./cell.ts";
import { costs } from "./loss.ts";

/** What the next cell sees as the output of this step, [T]. */
export type Feed = (trace: CellTrace, step: number) => Float64Array;

/** Feeds the true values, [step][target]. */
export function feedTargets(targets: Float64Array, T: number): Feed {
  return (_trace, step) => targets.subarray(step * T, (step + 1) * T);
}

/** Feeds the net's own means. */
export const feedMeans: Feed = (trace) => trace.mean;

export function runNet(plan: NetPlan, weights: Float64Array, x: Float64Array, feed: Feed): CellTrace[] {
  const traces: CellTrace[] = [];
  let u = x;
  for (const [step, cell] of plan.cells.entries()) {
    const trace = forwardCell(cell, weights, u);
    traces.push(trace);
    u = joined(x, outputOf(trace), feed(trace, step));
  }
  return traces;
}

/** Sum of the loss over steps and targets; `targets` is [step][target]. */
export function sumLoss(plan: NetPlan, traces: readonly CellTrace[], targets: Float64Array): number {
  const cost = costs[plan.spec.loss];
  let sum = 0;
  for (const [step, { mean, deviation }] of traces.entries()) {
    for (let t = 0; t < mean.length; t++) {
      sum += cost.of(targets[step * mean.length + t], mean[t], deviation?.[t] ?? 1);
    }
  }
  return sum;
}

/** Adds to `gradient` the slopes of `scale` × the loss summed over steps and targets. */
export function backpropagate(
  plan: NetPlan,
  weights: Float64Array,
  traces: readonly CellTrace[],
  { targets, scale }: { readonly targets: Float64Array; readonly scale: number },
  gradient: Float64Array,
): void {
  const T = plan.targets;
  const cost = costs[plan.spec.loss];
  // dh of the cell at hand, as it comes back through the input of the cell after it.
  let output: Float64Array | null = null;
  for (let step = plan.cells.length - 1; step >= 0; step--) {
    const { mean: μ, deviation: σ } = traces[step];
    const y = targets.subarray(step * T, (step + 1) * T);
    const mean = μ.map((_, t) => scale * cost.slopeByMean(y[t], μ[t], σ?.[t] ?? 1));
    const deviation = σ?.map((_, t) => scale * cost.slopeByDeviation(y[t], μ[t], σ[t])) ?? null;
    const slopes = { mean, deviation, output };
    const du = backwardCell(plan.cells[step], weights, traces[step], slopes, gradient);
    output = du.subarray(plan.windowSize, du.length - T);
  }
}
