// The whole net on one window, forward and backward: its cells one after the other, their outputs and the loss. Cells
// follow the paper's equations 3 and 4: y = f_t(h), h = g_t(x, h′, y′).
//
// Legend: T targets, τ cells; x the window; h a cell's output, h′ that of the cell before; y′ the forecast interleaved
// between the two; u = [x, h′, y′] a cell's input (x alone in the first cell); v the input of the mean layer: h, or
// [h, u] with a linear shortcut; μ, σ, y [T] at a step; dv is ∂L/∂v.
//   μ = W_μ·v + b_μ                          equation 1
//   σ = log(1 + exp(a)), a = W_σ·h + b_σ     equation 2; dσ/da = 1/(1 + e^−a) = 1 − e^−σ
// Training feeds the true y forward: it is data, so no derivative flows back through it. Forecasting feeds the net's
// own output.

import { normalCdf } from "../../models/forecastnet/normal-table.ts";
import type { CellPlan, NetPlan, Placed } from "../../models/forecastnet/plan.ts";
import type { Loss } from "../../models/forecastnet/spec.ts";
import {
  convBackward,
  convForward,
  denseBackward,
  denseForward,
  poolBackward,
  poolForward,
} from "./layers.ts";

/** The y′ that the next cell gets for this step, [T]. */
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

/** Adds the derivatives of `scale` × the loss, summed over steps and targets, to `gradient`. */
export function backpropagate(
  plan: NetPlan,
  weights: Float64Array,
  traces: readonly CellTrace[],
  { targets, scale }: { readonly targets: Float64Array; readonly scale: number },
  gradient: Float64Array,
): void {
  const T = plan.targets;
  const cost = costs[plan.spec.loss];
  // The part of the current cell's dh that comes through the input of the next cell.
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

/** The loss of one output and its slopes. */
interface OutputCost {
  /** σ is 1 for linear outputs. */
  readonly of: (y: number, μ: number, σ: number) => number;
  readonly slopeByMean: (y: number, μ: number, σ: number) => number;
  readonly slopeByDeviation: (y: number, μ: number, σ: number) => number;
}

const φ = (z: number) => Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);

/**
 * With z = (y − μ)/σ:
 *   likelihood  log σ + z²/2, the negative log-likelihood without its constant ½ log 2π
 *   crps        σ·(z·(2Φ(z) − 1) + 2φ(z) − 1/√π), the closed form for a Gaussian
 *   squares     (y − μ)²
 */
const costs: Readonly<Record<Loss, OutputCost>> = {
  likelihood: {
    of: (y, μ, σ) => Math.log(σ) + (y - μ) ** 2 / (2 * σ ** 2),
    slopeByMean: (y, μ, σ) => (μ - y) / σ ** 2,
    slopeByDeviation: (y, μ, σ) => 1 / σ - (y - μ) ** 2 / σ ** 3,
  },
  crps: {
    of: (y, μ, σ) => {
      const z = (y - μ) / σ;
      return σ * (z * (2 * normalCdf(z) - 1) + 2 * φ(z) - 1 / Math.sqrt(Math.PI));
    },
    slopeByMean: (y, μ, σ) => 1 - 2 * normalCdf((y - μ) / σ),
    slopeByDeviation: (y, μ, σ) => 2 * φ((y - μ) / σ) - 1 / Math.sqrt(Math.PI),
  },
  squares: {
    of: (y, μ) => (y - μ) ** 2,
    slopeByMean: (y, μ) => 2 * (μ - y),
    slopeByDeviation: () => 0,
  },
};

/** What the backward pass needs of a cell. */
interface CellTrace {
  /** u, then the output of each layer; the last is h. */
  readonly values: readonly Float64Array[];
  /** v */
  readonly seen: Float64Array;
  /** μ [T] */
  readonly mean: Float64Array;
  /** σ [T]; null for linear outputs. */
  readonly deviation: Float64Array | null;
}

/** The derivatives that a cell receives in the backward pass. */
interface CellSlopes {
  /** dμ [T] */
  readonly mean: Float64Array;
  /** dσ [T]; null for linear outputs. */
  readonly deviation: Float64Array | null;
  /** The part of dh that comes through the next cell; null for the last cell. */
  readonly output: Float64Array | null;
}

function outputOf(trace: CellTrace): Float64Array {
  return trace.values[trace.values.length - 1];
}

function forwardCell(cell: CellPlan, weights: Float64Array, u: Float64Array): CellTrace {
  const values = [u];
  for (const layer of cell.layers) values.push(forwardLayer(layer, weights, values[values.length - 1]));
  const h = values[values.length - 1];
  const seen = hasShortcut(cell) ? joined(h, u) : h;
  const mean = denseForward(cell.mean, weights, seen);
  const deviation = cell.deviation && denseForward(cell.deviation, weights, h).map(softplus);
  return { values, seen, mean, deviation };
}

/** Adds the cell's part to `gradient` and returns du. */
function backwardCell(
  cell: CellPlan,
  weights: Float64Array,
  trace: CellTrace,
  slopes: CellSlopes,
  gradient: Float64Array,
): Float64Array {
  const { values, seen: v, mean: μ, deviation: σ } = trace;
  const h = outputOf(trace);
  const dv = denseBackward(cell.mean, weights, { x: v, y: μ, dy: slopes.mean }, gradient);
  let d: Float64Array = dv.slice(0, cell.outputs);
  if (slopes.output !== null) add(d, slopes.output);
  if (cell.deviation !== null && σ !== null && slopes.deviation !== null) {
    const da = slopes.deviation.map((dσ, i) => -dσ * Math.expm1(-σ[i]));
    add(d, denseBackward(cell.deviation, weights, { x: h, y: σ, dy: da }, gradient));
  }
  for (let i = cell.layers.length - 1; i >= 0; i--) {
    d = backwardLayer(cell.layers[i], weights, { x: values[i], y: values[i + 1], dy: d }, gradient);
  }
  if (hasShortcut(cell)) add(d, dv.subarray(cell.outputs));
  return d;
}

function joined(...parts: readonly Float64Array[]): Float64Array {
  const whole = new Float64Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function hasShortcut(cell: CellPlan): boolean {
  return cell.mean.inputs > cell.outputs;
}

/** log(1 + e^a), without overflow for large a and without loss of digits for small a. */
function softplus(a: number): number {
  return Math.max(a, 0) + Math.log1p(Math.exp(-Math.abs(a)));
}

function add(sum: Float64Array, part: Float64Array): void {
  for (let i = 0; i < sum.length; i++) sum[i] += part[i];
}

function forwardLayer(layer: Placed, weights: Float64Array, x: Float64Array): Float64Array {
  if (layer.kind === "dense") return denseForward(layer, weights, x);
  return layer.kind === "conv" ? convForward(layer, weights, x) : poolForward(layer, x);
}

function backwardLayer(
  layer: Placed,
  weights: Float64Array,
  pass: { readonly x: Float64Array; readonly y: Float64Array; readonly dy: Float64Array },
  gradient: Float64Array,
): Float64Array {
  if (layer.kind === "dense") return denseBackward(layer, weights, pass, gradient);
  return layer.kind === "conv" ? convBackward(layer, weights, pass, gradient) : poolBackward(layer, pass.dy);
}
