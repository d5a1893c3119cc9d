// Linear maps from a window to the steps ahead, and those that need no fitting.
//
// Legend: C channels, p = L·C inputs (the L steps of a window), m = τ·C outputs; outputs of a step stand side by side.

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

/** The same as one window length ago. */
export function naiveMap({ length, horizon, channels }: MapShape): AffineMap {
  const m = horizon * channels;
  const p = length * channels;
  const weights = new Float64Array(m * p);
  for (let o = 0; o < m; o++) weights[o * p + (o % p)] = 1;
  return { weights, constant: new Float64Array(m) };
}

/**
 * The level of the window plus its mean seasonal profile.
 *
 * Legend: k seasons in the window; profile_j = mean over the seasons of (x_j − mean of the window); level = the mean of
 * x_t − profile_t, weighted by α·(1 − α)^age, what is left of the weight spread evenly.
 */
export function smoothMap({ length, horizon, channels: C }: MapShape, season: number, α: number): AffineMap {
  const k = length / season;
  const weightOf = new Float64Array(length);
  let left = 1;
  for (let t = length - 1; t >= 0; t--, left *= 1 - α) weightOf[t] = left * α;
  const weightOfPhase = new Float64Array(season);
  for (let t = 0; t < length; t++) {
    weightOf[t] += left / length;
    weightOfPhase[t % season] += weightOf[t];
  }
  const m = horizon * C;
  const p = length * C;
  const weights = new Float64Array(m * p);
  for (let o = 0; o < m; o++) {
    const phase = Math.floor(o / C) % season;
    for (let t = 0; t < length; t++) {
      const level = weightOf[t] - weightOfPhase[t % season] / k + 1 / length;
      const profile = (t % season === phase ? 1 / k : 0) - 1 / length;
      weights[o * p + t * C + (o % C)] = level + profile;
    }
  }
  return { weights, constant: new Float64Array(m) };
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

/** The weighted mean of maps, as one map of the longest window. */
export function averageMap(maps: readonly { readonly map: AffineMap; readonly share: number }[]): AffineMap {
  const m = maps[0].map.constant.length;
  const p = Math.max(...maps.map(({ map }) => map.weights.length)) / m;
  const weights = new Float64Array(m * p);
  const constant = new Float64Array(m);
  for (const { map, share } of maps) {
    const own = map.weights.length / m;
    for (let o = 0; o < m; o++) {
      constant[o] += share * map.constant[o];
      const at = (o + 1) * p - own;
      for (let i = 0; i < own; i++) weights[at + i] += share * map.weights[o * own + i];
    }
  }
  return { weights, constant };
}
