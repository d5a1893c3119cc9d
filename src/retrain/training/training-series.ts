// What a training learns from: one series, or the members of a cohort; and the units in which each is judged.

import { naiveErrorOf } from "../../models/scores.ts";

export interface TrainingSeries {
  /** Oldest first, channels of a step side by side, NaN where nothing is known. */
  readonly values: Float64Array;
  /** One byte per step, 1 where its values were filled in: they may be learnt from, but judge nobody. Null: none. */
  readonly filled: Uint8Array | null;
}

/** A series, and per channel its naive error: what its forecasts' errors are counted in. */
export interface MeasuredSeries extends TrainingSeries {
  readonly units: readonly number[];
}

/** A channel that never moves is measured in its own units. */
export function measureSeries(series: TrainingSeries, channels: number): MeasuredSeries {
  const units = Array.from({ length: channels }, (_, channel) => {
    const own = channelOf(series.values, channels, channel);
    const observed = own.map((value, step) => (isFilled(series, step) ? Number.NaN : value));
    // Where every second value is a filled one, no two neighbours were observed.
    return naiveErrorOf(observed, 0, own.length) ?? naiveErrorOf(own, 0, own.length) ?? 1;
  });
  return { ...series, units };
}

export function isFilled({ filled }: TrainingSeries, step: number): boolean {
  return filled !== null && filled[step] === 1;
}

export function stepsOf({ values }: TrainingSeries, channels: number): number {
  return Math.floor(values.length / channels);
}

function channelOf(values: Float64Array, channels: number, channel: number): Float64Array {
  const own = new Float64Array(Math.floor(values.length / channels));
  for (let step = 0; step < own.length; step++) own[step] = values[step * channels + channel];
  return own;
}
