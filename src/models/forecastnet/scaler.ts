// Fits the scaler of a model: it brings each channel of the training part into [0, 1], as the paper does.

import { ForecastnetError } from "../../runtime/errors.ts";
import type { Scaler } from "./model.ts";

/** A part of a history: steps `from` … `to` − 1. */
export interface StepRange {
  readonly from: number;
  readonly to: number;
}

/** `history` holds the channels of a step side by side; NaN marks a missing value and is left out. */
export function fitScaler(history: Float64Array, channels: number, from: number, to: number): Scaler {
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
    offset.push(low);
    // A constant series has no extent to divide by, and two values may be so close that their distance is lost.
    const extent = high - low;
    scale.push(extent > Number.EPSILON * Math.max(Math.abs(low), Math.abs(high)) ? extent : 1);
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
