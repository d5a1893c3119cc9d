// One cell and its output, forward and backward: y = f_t(h), h = g_t(x, h′, y′) in the paper's equations 3 and 4,
// where x is the window and h′, y′ are the output of the cell before and the output interleaved after it.
//
// Legend: T targets; u = [x, h′, y′] the cell's input; h the cell's output; v what the mean layer sees: h, or [h, u]
// with a linear shortcut; dv is ∂L/∂v.
//   μ = W_μ·v + b_μ                          equation 1
//   σ = log(1 + exp(a)), a = W_σ·h + b_σ     equation 2; dσ/da = 1/(1 + e^−a) = 1 − e^−σ

import type { CellPlan, Placed } from "../../models/forecastnet/plan.ts";
import { convBackward, convForward } from "./conv.ts";
import { denseBackward, denseForward } from "./dense.ts";
import { poolBackward, poolForward } from "./pool.ts";

/** What a pass through a cell leaves behind for the way back. */
export interface CellTrace {
  /** u, then what leaves each layer; the last is h. */
  readonly values: readonly Float64Array[];
  /** v */
  readonly seen: Float64Array;
  /** μ [T] */
  readonly mean: Float64Array;
  /** σ [T]; null for linear outputs. */
  readonly deviation: Float64Array | null;
}

/** What reaches a cell from behind. */
export interface CellSlopes {
  /** dμ [T] */
  readonly mean: Float64Array;
  /** dσ [T]; null for linear outputs. */
  readonly deviation: Float64Array | null;
  /** dh, as far as it comes through the next cell; null after the last. */
  readonly output: Float64Array | null;
}

export function outputOf(trace: CellTrace): Float64Array {
  return trace.values[trace.values.length - 1];
}

export function forwardCell(cell: CellPlan, weights: Float64Array, u: Float64Array): CellTrace {
  const values = [u];
  for (const layer of cell.layers) values.push(forwardLayer(layer, weights, values[values.length - 1]));
  const h = values[values.length - 1];
  const seen = hasShortcut(cell) ? joined(h, u) : h;
  const mean = denseForward(cell.mean, weights, seen);
  const deviation = cell.deviation && denseForward(cell.deviation, weights, h).map(softplus);
  return { values, seen, mean, deviation };
}

/** Adds the cell's part to `gradient` and returns du. */
export function backwardCell(
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

export function joined(...parts: readonly Float64Array[]): Float64Array {
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

/** log(1 + e^a) without overflow for large a, or loss of digits for small. */
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
