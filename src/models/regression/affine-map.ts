// Linear maps from a window to the steps ahead, and those that need no fitting.
//
// Legend: C channels, p = L·C inputs (the L steps of a window), m = τ·C outputs; outputs of a step stand side by side.

import { dot } from "./cholesky.ts";

/** output = constant + Σ weight × input, in units of the scaler. */
export interface AffineMap {
  /** [output][input] */
  readonly weights: Float64Array;
  /** [output] */
  readonly constant: Float64Array;
}

export interface MapShape {
  /** Steps in a window. */
  readonly length: number;
  readonly horizon: number;
  readonly channels: number;
}

/** Writes the outputs for the windows that end before `ends` to `into[at …]`, window after window. */
export function applyMap(
  map: AffineMap,
  values: Float64Array,
  ends: readonly number[],
  { into, at }: { readonly into: Float64Array; readonly at: number },
): void {
  const m = map.constant.length;
  let w = 0;
  for (; w + 2 <= ends.length; w += 2) applyToTwo(map, values, ends[w], ends[w + 1], into, at + w * m);
  if (w < ends.length) applyToTwo(map, values, ends[w], ends[w], into, at + w * m);
}

/**
 * Four outputs of two windows at a time: they share the reads of windows and weights, and their sums do not wait for one another. The
 * outputs of the second window follow those of the first.
 */
function applyToTwo(
  { weights, constant }: AffineMap,
  values: Float64Array,
  end: number,
  nextEnd: number,
  into: Float64Array,
  at: number,
): void {
  const m = constant.length;
  const p = weights.length / m;
  const start = end - p;
  const nextStart = nextEnd - p;
  const next = nextEnd === end ? at : at + m;
  let o = 0;
  for (; o + 4 <= m; o += 4) {
    const a = o * p;
    const b = a + p;
    const c = b + p;
    const d = c + p;
    let s0 = constant[o];
    let s1 = constant[o + 1];
    let s2 = constant[o + 2];
    let s3 = constant[o + 3];
    let t0 = s0;
    let t1 = s1;
    let t2 = s2;
    let t3 = s3;
    for (let i = 0; i < p; i++) {
      const x = values[start + i];
      const y = values[nextStart + i];
      const w0 = weights[a + i];
      const w1 = weights[b + i];
      const w2 = weights[c + i];
      const w3 = weights[d + i];
      s0 += w0 * x;
      s1 += w1 * x;
      s2 += w2 * x;
      s3 += w3 * x;
      t0 += w0 * y;
      t1 += w1 * y;
      t2 += w2 * y;
      t3 += w3 * y;
    }
    into[at + o] = s0;
    into[at + o + 1] = s1;
    into[at + o + 2] = s2;
    into[at + o + 3] = s3;
    into[next + o] = t0;
    into[next + o + 1] = t1;
    into[next + o + 2] = t2;
    into[next + o + 3] = t3;
  }
  for (; o < m; o++) {
    into[at + o] = constant[o] + dot(weights, o * p, values, start, p);
    into[next + o] = constant[o] + dot(weights, o * p, values, nextStart, p);
  }
}

/**
 * Adds Σ weight × input to every output: weights [output][input], of the first `count` inputs. Four outputs at a time, whose sums do not wait
 * for one another; each runs over the inputs in their order.
 */
export function addProducts(
  outputs: Float64Array,
  weights: Float32Array,
  inputs: Float64Array,
  count: number,
): void {
  const m = outputs.length;
  let o = 0;
  for (; o + 4 <= m; o += 4) {
    const a = o * count;
    const b = a + count;
    const c = b + count;
    const d = c + count;
    let s0 = outputs[o];
    let s1 = outputs[o + 1];
    let s2 = outputs[o + 2];
    let s3 = outputs[o + 3];
    for (let i = 0; i < count; i++) {
      const x = inputs[i];
      s0 += weights[a + i] * x;
      s1 += weights[b + i] * x;
      s2 += weights[c + i] * x;
      s3 += weights[d + i] * x;
    }
    outputs[o] = s0;
    outputs[o + 1] = s1;
    outputs[o + 2] = s2;
    outputs[o + 3] = s3;
  }
  for (; o < m; o++) {
    let sum = outputs[o];
    for (let i = 0; i < count; i++) sum += weights[o * count + i] * inputs[i];
    outputs[o] = sum;
  }
}

/** The same as one window length ago. */
export function naiveMap({ length, horizon, channels }: MapShape): AffineMap {
  const m = horizon * channels;
  const p = length * channels;
  const weights = new Float64Array(m * p);
  for (let o = 0; o < m; o++) weights[o * p + (o % p)] = 1;
  return { weights, constant: new Float64Array(m) };
}

/** How `smoothMap` weighs the past. */
export interface Smoothing {
  /** α: share of the newest step in the level. */
  readonly level: number;
  /** γ: what a season counts relative to the one after it in the profile. Null for no profile: the series has no season. */
  readonly profile: number | null;
  /** κ: share of the trend that goes on. */
  readonly trend: number;
}

/**
 * The level of the window, plus its seasonal profile, plus its trend.
 *
 * Legend: k seasons in the window; v_q share of season q in the profile, falling by γ per season of age; profile_j = Σ_q v_q·(x_qj −
 * mean of season q); level = mean of x_t − profile_t, weighted by α·(1 − α)^age, what is left of the weight spread evenly.
 * slope = that of a line through the means of the seasons. With κ > 0 all this applies to x_t less κ·slope·(t − last t),
 * and κ·slope·(steps ahead) is added.
 */
export function smoothMap(
  shape: MapShape,
  season: number,
  { level: α, profile: γ, trend: κ }: Smoothing,
): AffineMap {
  const { length, horizon, channels: C } = shape;
  const k = length / season;
  const levelWeight = new Float64Array(length);
  let left = 1;
  for (let t = length - 1; t >= 0; t--, left *= 1 - α) levelWeight[t] = left * α;
  const phaseWeight = new Float64Array(season);
  for (let t = 0; t < length; t++) {
    levelWeight[t] += left / length;
    phaseWeight[t % season] += levelWeight[t];
  }
  const share = Float64Array.from({ length: k }, (_, q) => (γ === null ? 0 : γ ** (k - 1 - q)));
  const total = γ === null ? 1 : share.reduce((sum, one) => sum + one, 0);
  const slope = slopeWeights(length, season);
  const m = horizon * C;
  const p = length * C;
  const weights = new Float64Array(m * p);
  const row = new Float64Array(length);
  for (let h = 0; h < horizon; h++) {
    let lag = h + 1;
    for (let t = 0; t < length; t++) {
      const j = t % season;
      const own = share[Math.floor(t / season)] / total;
      row[t] = levelWeight[t] + own * ((j === h % season ? 1 : 0) - phaseWeight[j]);
      lag -= row[t] * (t - length + 1);
    }
    for (let c = 0; c < C; c++)
      for (let t = 0; t < length; t++) weights[(h * C + c) * p + t * C + c] = row[t] + κ * lag * slope[t];
  }
  return { weights, constant: new Float64Array(m) };
}

/** Slope per step of the line through the means of the seasons of a window, as weights of its steps. */
function slopeWeights(length: number, season: number): Float64Array {
  const k = length / season;
  const weights = new Float64Array(length);
  if (k < 2) return weights;
  const squares = (k * (k * k - 1)) / 12;
  for (let t = 0; t < length; t++)
    weights[t] = (Math.floor(t / season) - (k - 1) / 2) / (season * season * squares);
  return weights;
}

/** The first output alone. */
export function firstOutput({ weights, constant }: AffineMap): AffineMap {
  return {
    weights: weights.subarray(0, weights.length / constant.length),
    constant: constant.subarray(0, 1),
  };
}

/** The map of one step of one channel, applied to windows that end with its own forecasts. */
export function repeatMap({ weights: next, constant: [constant] }: AffineMap, horizon: number): AffineMap {
  const p = next.length;
  const weights = new Float64Array(horizon * p);
  const constants = new Float64Array(horizon).fill(constant);
  for (let h = 0; h < horizon; h++) {
    const row = weights.subarray(h * p, (h + 1) * p);
    // Inputs that are still observed, then those that are forecasts.
    for (let i = h; i < p; i++) row[i] = next[i - h];
    for (let k = Math.max(0, h - p); k < h; k++) {
      const weight = next[p - h + k];
      constants[h] += weight * constants[k];
      for (let i = 0; i < p; i++) row[i] += weight * weights[k * p + i];
    }
  }
  return { weights, constant: constants };
}

/** A map, and its share in an average at every output. */
export interface SharedMap {
  readonly map: AffineMap;
  readonly shares: ArrayLike<number>;
}

/** The weighted mean of maps, as one map of the longest window. */
export function averageMap(maps: readonly SharedMap[]): AffineMap {
  const m = maps[0].map.constant.length;
  const p = Math.max(...maps.map(({ map }) => map.weights.length)) / m;
  const weights = new Float64Array(m * p);
  const constant = new Float64Array(m);
  for (const { map, shares } of maps) {
    const own = map.weights.length / m;
    for (let o = 0; o < m; o++) {
      const share = shares[o];
      if (share === 0) continue;
      constant[o] += share * map.constant[o];
      const at = (o + 1) * p - own;
      for (let i = 0; i < own; i++) weights[at + i] += share * map.weights[o * own + i];
    }
  }
  return { weights, constant };
}
