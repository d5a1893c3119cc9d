// The distribution of a linear model's errors, which depends on the situation: a series of sunshine has no errors at night, and
// larger ones after a changeable day. What an error is likely to be is a spread times a number drawn from a shape.
//
// Legend: o an output (a step ahead of a channel); s the season; x the window, in which j is the phase of the output; y the forecast.
//   spread = step_o · (w₀·unit + w₁·seasonal_j + w₂·volatility + w₃·height + w₄·novelty), all w ≥ 0
//   seasonal_j   mean |x_t − x_(t−s)| at the phase, smoothed over the phases beside it
//   volatility   mean |x_t − x_(t−s)| over the last season
//   height       y − the least value of the window: noise that grows with the level
//   novelty      |y − x_j of the last season|: how far the forecast departs from the season before
//   shape        between that of low and that of high forecasts, by where y lies in the range of the window
// Held-out errors choose between this and simpler forms.

import type { MapShape } from "../regression/affine-map.ts";

export const featureCount = 5;
export const shapePoints = 64;

export interface ErrorModel {
  readonly season: number;
  /** step_o, [output]. */
  readonly steps: Float32Array;
  /** w, [feature]. */
  readonly weights: Float32Array;
  /** Least and largest value of what `step` is multiplied by, in units of the model: nothing beyond was seen. */
  readonly limits: Float32Array;
  /** Quantiles at the middles of equal shares of probability, ascending: of errors where the forecast is low, and where it is high. */
  readonly low: Float32Array;
  readonly high: Float32Array;
}

/** A forecast that is about to get a distribution, or one that turned out. */
export interface Situation {
  /** Ends at the origin. At least one season. */
  readonly window: Float64Array;
  /** Forecasts, [output]. */
  readonly centres: Float64Array;
  /** What one unit of the model is in units of the window, [channel]. */
  readonly units: ArrayLike<number>;
}

/** What the spread and the shape depend on, in units of the window. */
export interface Features {
  /** [output][feature] */
  readonly values: Float64Array;
  /** From 0, the least value of the window, to 1, its largest: [output]. */
  readonly heights: Float64Array;
}

export function featuresOf(
  situation: Situation,
  shape: Pick<MapShape, "horizon" | "channels">,
  season: number,
): Features {
  const features = emptyFeatures(shape.horizon * shape.channels);
  featuresInto(features, situation, shape, season);
  return features;
}

export function emptyFeatures(outputs: number): Features {
  return { values: new Float64Array(outputs * featureCount), heights: new Float64Array(outputs) };
}

/** For callers that reuse their arrays. */
export function featuresInto(
  { values, heights }: Features,
  { window, centres, units }: Situation,
  { horizon, channels: C }: Pick<MapShape, "horizon" | "channels">,
  season: number,
): void {
  const lastSeason = (window.length / C - season) * C;
  for (let c = 0; c < C; c++) {
    const { low, high, changes, lastChange } = measureSeasons(window, { C, c, season });
    for (let h = 0, j = 0; h < horizon; h++, j = j + 1 === season ? 0 : j + 1) {
      const o = h * C + c;
      const before = j === 0 ? season - 1 : j - 1;
      const after = j + 1 === season ? 0 : j + 1;
      const height = Math.max(0, centres[o] - low);
      const at = o * featureCount;
      values[at] = units[c];
      values[at + 1] = (changes[before] + 2 * changes[j] + changes[after]) / 4;
      values[at + 2] = lastChange;
      values[at + 3] = height;
      values[at + 4] = Math.abs(centres[o] - window[lastSeason + j * C + c]);
      heights[o] = high > low ? Math.min(1, height / (high - low)) : 0.5;
    }
  }
}

/** Reused between calls, and grown as needed. */
let changesByPhase = new Float64Array(0);

/**
 * The range of a channel, how much it changes from season to season at each phase, and how much it last did. The changes are valid until
 * the next call.
 */
function measureSeasons(
  window: Float64Array,
  { C, c, season }: { readonly C: number; readonly c: number; readonly season: number },
) {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  let lastChange = 0;
  if (changesByPhase.length < season) changesByPhase = new Float64Array(season);
  const changes = changesByPhase.fill(0, 0, season);
  const steps = window.length / C;
  const whole = Math.floor(steps / season);
  const first = steps - whole * season;
  const second = first + season;
  const last = first + (whole - 1) * season;
  for (let t = first, phase = 0; t < steps; t++) {
    const value = window[t * C + c];
    if (value < low) low = value;
    if (value > high) high = value;
    if (t < second) continue;
    const change = Math.abs(value - window[(t - season) * C + c]);
    changes[phase] += change / (whole - 1);
    if (t >= last) lastChange += change / season;
    phase = phase + 1 === season ? 0 : phase + 1;
  }
  return { low, high, changes, lastChange };
}

/** The spread of an output, whose features begin at `at`. */
export function spreadOf(
  model: Pick<ErrorModel, "steps" | "weights" | "limits">,
  values: Float64Array,
  at: number,
  output: number,
): number {
  const unit = values[at];
  let sum = 0;
  for (let f = 0; f < featureCount; f++) sum += model.weights[f] * values[at + f];
  return model.steps[output] * Math.min(Math.max(sum, model.limits[0] * unit), model.limits[1] * unit);
}

/** Of a shape, each number is at the middle of its share of probability; quantiles between two numbers are linear. */
export function quantileOf(ascending: ArrayLike<number>, level: number): number {
  const position = Math.min(Math.max(level * ascending.length - 0.5, 0), ascending.length - 1);
  const below = Math.floor(position);
  const above = Math.min(below + 1, ascending.length - 1);
  return ascending[below] + (position - below) * (ascending[above] - ascending[below]);
}

/** The quantile of the shape for a forecast of this height. */
export function errorQuantile({ low, high }: ErrorModel, height: number, level: number): number {
  const quantile = quantileOf(low, level);
  return low === high ? quantile : quantile + height * (quantileOf(high, level) - quantile);
}

/** Errors of forecasts at origins whose future is known. An item is one output of one origin. */
export interface ErrorItems {
  readonly outputs: Int32Array;
  readonly errors: Float64Array;
  /** [item][feature] */
  readonly features: Float64Array;
  readonly heights: Float64Array;
}

export function joinItems(parts: readonly ErrorItems[]): ErrorItems {
  const join = (numbers: (part: ErrorItems) => Float64Array) => {
    const joined = new Float64Array(parts.reduce((sum, part) => sum + numbers(part).length, 0));
    let at = 0;
    for (const part of parts) {
      joined.set(numbers(part), at);
      at += numbers(part).length;
    }
    return joined;
  };
  return {
    outputs: Int32Array.from(parts.flatMap(({ outputs }) => [...outputs])),
    errors: join(({ errors }) => errors),
    features: join(({ features }) => features),
    heights: join(({ heights }) => heights),
  };
}
