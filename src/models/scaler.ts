// Fits the scaler of a model on its training part: each channel to [0, 1], as in the paper, or to mean 0 and deviation 1,
// which one far outlier does not distort.

import { ForecastnetError } from "../runtime/errors.ts";
import type { Scaler } from "./family.ts";

/** A part of a history: steps `from` … `to` − 1. */
export interface StepRange {
  readonly from: number;
  readonly to: number;
}

/** `history` has the channels of a step side by side; NaN marks a missing value. */
export function fitScaler(
  history: Float64Array,
  channels: number,
  from: number,
  to: number,
  kind: "range" | "deviation" = "range",
): Scaler {
  const offset: number[] = [];
  const scale: number[] = [];
  for (let c = 0; c < channels; c++) {
    const [low, high] = extremesOf(history, channels, c, { from, to });
    if (low > high) {
      throw new ForecastnetError(
        "WINDOW_UNFIT",
        `channel ${c} has no value in steps ${from} to ${to - 1}; a scaler needs at least one`,
        { context: { channel: c, from, to } },
      );
    }
    const [zero, unit] = kind === "range" ? [low, high - low] : momentsOf(history, channels, c, { from, to });
    offset.push(zero);
    // A constant series has no range to divide by; nor have values that differ only in their last digit.
    const isFlat = high - low <= Number.EPSILON * Math.max(Math.abs(low), Math.abs(high));
    scale.push(isFlat ? 1 : unit);
  }
  return { offset, scale };
}

function extremesOf(
  history: Float64Array,
  channels: number,
  channel: number,
  { from, to }: StepRange,
): [number, number] {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (let t = from; t < to; t++) {
    const value = history[t * channels + channel];
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

/** Mean and standard deviation. */
function momentsOf(
  history: Float64Array,
  channels: number,
  channel: number,
  { from, to }: StepRange,
): [number, number] {
  let count = 0;
  let mean = 0;
  let squares = 0;
  // Welford's algorithm is exact when the mean is large.
  for (let t = from; t < to; t++) {
    const value = history[t * channels + channel];
    if (!Number.isFinite(value)) continue;
    count++;
    const before = value - mean;
    mean += before / count;
    squares += before * (value - mean);
  }
  return [mean, Math.sqrt(squares / count)];
}
