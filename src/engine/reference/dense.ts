// The dense layer.
//
// Legend: x [inputs], y [outputs], w [outputs][inputs], b [outputs]; dv is ∂L/∂v; a = Σ w·x + b, before f.
//   y[o] = f(a[o])
//   da[o] = dy[o]·f′(a[o]),  dw[o][i] = da[o]·x[i],  db[o] = da[o],  dx[i] = Σ_o w[o][i]·da[o]

import type { DenseLayer } from "../../models/forecastnet/layers.ts";
import type { Placed } from "../../models/forecastnet/plan.ts";
import { activate, slope } from "./activation.ts";

export function denseForward(
  layer: Placed<DenseLayer>,
  weights: Float64Array,
  x: Float64Array,
): Float64Array {
  const y = new Float64Array(layer.outputs);
  for (let o = 0; o < layer.outputs; o++) {
    const row = layer.weightsAt + o * layer.inputs;
    let a = weights[layer.biasesAt + o];
    for (let i = 0; i < layer.inputs; i++) a += weights[row + i] * x[i];
    y[o] = activate(layer.activation, a);
  }
  return y;
}

/** Adds the layer's part to `gradient` and returns dx. */
export function denseBackward(
  layer: Placed<DenseLayer>,
  weights: Float64Array,
  { x, y, dy }: { readonly x: Float64Array; readonly y: Float64Array; readonly dy: Float64Array },
  gradient: Float64Array,
): Float64Array {
  const dx = new Float64Array(layer.inputs);
  for (let o = 0; o < layer.outputs; o++) {
    const row = layer.weightsAt + o * layer.inputs;
    const da = dy[o] * slope(layer.activation, y[o]);
    gradient[layer.biasesAt + o] += da;
    for (let i = 0; i < layer.inputs; i++) {
      gradient[row + i] += da * x[i];
      dx[i] += weights[row + i] * da;
    }
  }
  return dx;
}
