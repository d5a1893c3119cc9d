// Average pooling over a sequence; it has no weights.
//
// Legend: x [channels][length], y [channels][positions], s size; dv is ∂L/∂v.
//   y[c][p] = (1/s) Σ_{k<s} x[c][p·stride + k],  dx[c][p·stride + k] += dy[c][p]/s

import { outputLengthOf, type PoolLayer } from "../../models/forecastnet/layers.ts";

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
