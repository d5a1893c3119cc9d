// The convolution over a sequence.
//
// Legend: x [channels][length], y [filters][positions], w [filters][channels][kernel], b [filters]; dv is ∂L/∂v;
// x is 0 outside its length, so the sums run over those k only for which q = p + k − padding lies inside.
//   y[f][p] = f(a[f][p]),  a[f][p] = Σ_c Σ_k w[f][c][k]·x[c][q] + b[f]
//   da[f][p] = dy[f][p]·f′(a[f][p]),  db[f] = Σ_p da[f][p]
//   dw[f][c][k] = Σ_p da[f][p]·x[c][q],  dx[c][q] = Σ_f Σ_k w[f][c][k]·da[f][p]

import { type ConvLayer, outputLengthOf } from "../../models/forecastnet/layers.ts";
import type { Placed } from "../../models/forecastnet/plan.ts";
import { activate, slope } from "./activation.ts";

export function convForward(layer: Placed<ConvLayer>, weights: Float64Array, x: Float64Array): Float64Array {
  const { channels, length, filters, kernel, padding } = layer;
  const positions = outputLengthOf(layer);
  const y = new Float64Array(filters * positions);
  for (let f = 0; f < filters; f++) {
    for (let p = 0; p < positions; p++) {
      const { first, end } = insideOf(layer, p);
      let a = weights[layer.biasesAt + f];
      for (let c = 0; c < channels; c++) {
        const row = layer.weightsAt + (f * channels + c) * kernel;
        for (let k = first; k < end; k++) a += weights[row + k] * x[c * length + p + k - padding];
      }
      y[f * positions + p] = activate(layer.activation, a);
    }
  }
  return y;
}

/** Adds the layer's part to `gradient` and returns dx. */
export function convBackward(
  layer: Placed<ConvLayer>,
  weights: Float64Array,
  { x, y, dy }: { readonly x: Float64Array; readonly y: Float64Array; readonly dy: Float64Array },
  gradient: Float64Array,
): Float64Array {
  const { channels, length, filters, kernel, padding } = layer;
  const positions = outputLengthOf(layer);
  const dx = new Float64Array(channels * length);
  for (let f = 0; f < filters; f++) {
    for (let p = 0; p < positions; p++) {
      const at = f * positions + p;
      const { first, end } = insideOf(layer, p);
      const da = dy[at] * slope(layer.activation, y[at]);
      gradient[layer.biasesAt + f] += da;
      for (let c = 0; c < channels; c++) {
        const row = layer.weightsAt + (f * channels + c) * kernel;
        for (let k = first; k < end; k++) {
          const q = c * length + p + k - padding;
          gradient[row + k] += da * x[q];
          dx[q] += weights[row + k] * da;
        }
      }
    }
  }
  return dx;
}

/** The k from `first` to before `end` that meet the sequence at position p, not its padding. */
function insideOf({ length, kernel, padding }: ConvLayer, p: number): { first: number; end: number } {
  return { first: Math.max(0, padding - p), end: Math.min(kernel, length + padding - p) };
}
