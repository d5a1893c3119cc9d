// The three kinds of layers and their activations, forward and backward.
//
// Legend: x the input, y the output, w weights, b biases, f the activation, a the sum before f; dv is ∂L/∂v.
//
// Dense layer: x [inputs], y [outputs], w [outputs][inputs], b [outputs]
//   y[o] = f(a[o]),  a[o] = Σ_i w[o][i]·x[i] + b[o]
//   da[o] = dy[o]·f′(a[o]),  dw[o][i] = da[o]·x[i],  db[o] = da[o],  dx[i] = Σ_o w[o][i]·da[o]
//
// Convolution over a sequence: x [channels][length], y [filters][positions], w [filters][channels][kernel], b [filters].
// x is 0 outside its length, so sums run only over those k for which q = p + k − padding is inside.
//   y[f][p] = f(a[f][p]),  a[f][p] = Σ_c Σ_k w[f][c][k]·x[c][q] + b[f]
//   da[f][p] = dy[f][p]·f′(a[f][p]),  db[f] = Σ_p da[f][p]
//   dw[f][c][k] = Σ_p da[f][p]·x[c][q],  dx[c][q] = Σ_f Σ_k w[f][c][k]·da[f][p]
//
// Average pool over a sequence: x [channels][length], y [channels][positions], s the size
//   y[c][p] = (1/s) Σ_{k<s} x[c][p·stride + k],  dx[c][p·stride + k] += dy[c][p]/s

import {
  type Activation,
  type ConvLayer,
  type DenseLayer,
  outputLengthOf,
  type PoolLayer,
} from "../../models/forecastnet/layers.ts";
import type { Placed } from "../../models/forecastnet/plan.ts";

/** y = f(a) */
export function activate(activation: Activation, a: number): number {
  if (activation === "relu") return Math.max(0, a);
  return activation === "sigmoid" ? 1 / (1 + Math.exp(-a)) : a;
}

/** f′(a), computed from y = f(a). At the corner of ReLU it is 0. */
export function slope(activation: Activation, y: number): number {
  if (activation === "relu") return y > 0 ? 1 : 0;
  return activation === "sigmoid" ? y * (1 - y) : 1;
}

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

/** The range of k, `first` inclusive to `end` exclusive, that is inside the sequence at position p. */
function insideOf({ length, kernel, padding }: ConvLayer, p: number): { first: number; end: number } {
  return { first: Math.max(0, padding - p), end: Math.min(kernel, length + padding - p) };
}

export function poolForward(layer: PoolLayer, x: Float64Array): Float64Array {
  const { channels, length, size, stride } = layer;
  const positions = outputLengthOf(layer);
  const y = new Float64Array(channels * positions);
  for (let c = 0; c < channels; c++) {
    for (let p = 0; p < positions; p++) {
      let sum = 0;
      for (let k = 0; k < size; k++) sum += x[c * length + p * stride + k];
      y[c * positions + p] = sum / size;
    }
  }
  return y;
}

/** Returns dx. */
export function poolBackward(layer: PoolLayer, dy: Float64Array): Float64Array {
  const { channels, length, size, stride } = layer;
  const positions = outputLengthOf(layer);
  const dx = new Float64Array(channels * length);
  for (let c = 0; c < channels; c++) {
    for (let p = 0; p < positions; p++) {
      const share = dy[c * positions + p] / size;
      for (let k = 0; k < size; k++) dx[c * length + p * stride + k] += share;
    }
  }
  return dx;
}
