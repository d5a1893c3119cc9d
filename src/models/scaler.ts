// Scalers: fitted to the training part of a model, each channel to mean 0 and deviation 1, which one far outlier distorts
// less than a scale by the range.

import { ForecastnetError } from "../runtime/errors.ts";
import type { Scaler, TrainingSeries } from "./family.ts";
import { isNeverNegative, rootsFor, rootsOf, squareOf } from "./roots.ts";

/** Fitted to the steps before `end`. `history` has the channels of a step side by side; NaN marks a missing value. */
export function fitScaler(history: Float64Array, channels: number, end: number): Scaler {
  const offset: number[] = [];
  const scale: number[] = [];
  for (let c = 0; c < channels; c++) {
    const { count, low, high, mean, deviation } = measure(history, channels, c, end);
    if (count === 0) {
      throw new ForecastnetError(
        "WINDOW_UNFIT",
        `channel ${c} has no value in steps 0 to ${end - 1}; a scaler needs at least one`,
        { context: { channel: c, from: 0, to: end } },
      );
    }
    offset.push(mean);
    // A constant series has no deviation to divide by; nor have values that differ only in their last digit.
    const isFlat = high - low <= Number.EPSILON * Math.max(Math.abs(low), Math.abs(high));
    scale.push(isFlat ? 1 : deviation);
  }
  return { offset, scale };
}

/**
 * Models of a cohort take level and scale from the window. The scaler then only limits how flat a window may be, and that
 * limit must suit the quietest member.
 */
export function sharedScaler(scalers: readonly Scaler[]): Scaler {
  return {
    offset: scalers[0].offset.map(() => 0),
    scale: scalers[0].scale.map((_, c) => Math.min(...scalers.map(({ scale }) => scale[c]))),
  };
}

/** Fitted to the steps before `end`, and to their roots where the series allows. A cohort has no roots: its members may differ in sign. */
export function fitSeriesScaler(series: TrainingSeries, channels: number, end: number): Scaler {
  if (!isNeverNegative(series)) return fitScaler(series.values, channels, end);
  return { ...fitScaler(rootsOf(series.values), channels, end), ofRoots: true };
}

/** Channels of a step stand side by side. */
export function scaleValues(values: Float64Array, scaler: Scaler): Float64Array {
  const { offset, scale } = scaler;
  return rootsFor(scaler, values).map(
    (value, i) => (value - offset[i % offset.length]) / scale[i % scale.length],
  );
}

/** The raw value. */
export function unscale(scaled: number, scaler: Scaler, channel: number): number {
  const value = scaler.offset[channel] + scaler.scale[channel] * scaled;
  return scaler.ofRoots ? squareOf(value) : value;
}

function measure(history: Float64Array, channels: number, channel: number, end: number) {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  let count = 0;
  let mean = 0;
  let squares = 0;
  // Welford's algorithm is exact when the mean is large.
  for (let t = 0; t < end; t++) {
    const value = history[t * channels + channel];
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
    count++;
    const before = value - mean;
    mean += before / count;
    squares += before * (value - mean);
  }
  return { count, low, high, mean, deviation: Math.sqrt(squares / count) };
}
