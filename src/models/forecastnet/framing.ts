// Converts raw windows into the net's units and back: one window at its origin, or all windows of a history.
//
// Legend: L input steps, τ steps ahead, v raw values, or their roots where the scaler says so. For each channel of a window
//   level a   none: the scaler's offset; mean: of the L values; last: the last value
//   scale b   none: the scaler's scale; deviation: the standard deviation of the L values, but at least
//             FLATTEST times the scaler's scale: dividing by less would amplify noise, and the first value
//             outside a flat window would become a target in the thousands
//   input     (v − a) / b
//   output    v = a + b·net
// a and b include the scaler, so that one step converts between net units and raw units.

import { ForecastnetError } from "../../runtime/errors.ts";
import type { Scaler } from "../family.ts";
import { rootsFor } from "../roots.ts";
import type { ForecastNetSpec } from "./spec.ts";

/** Share of the training range. The flattest windows of real sensors measured about 0.04 of it. */
const FLATTEST = 0.01;

/** What framing needs of a net: how much of the past it sees, in what frame, and what it forecasts. */
export type FrameSpec = Pick<ForecastNetSpec, "inputLength" | "horizon" | "channels" | "targets" | "framing">;

/** A window in the net's units, and how to convert its forecast back: raw = offset + scale × net. */
export interface FramedWindow {
  /** [step][channel] */
  readonly window: Float32Array;
  /** [target], in raw units. */
  readonly offset: Float64Array;
  /** [target], in raw units. */
  readonly scale: Float64Array;
}

/** Framed windows and the values that followed them. */
export interface TrainingSet {
  readonly count: number;
  /** [row][windowSize] */
  readonly windows: Float32Array;
  /** [row][step][target] */
  readonly targets: Float32Array;
}

/** A part of a history: steps `from` … `to` − 1. */
interface StepRange {
  readonly from: number;
  readonly to: number;
}

/** Frames the last L steps of a window; `where` names the model in an error. */
export function frameWindow(
  spec: FrameSpec,
  scaler: Scaler,
  window: Float64Array,
  where = "the model",
): FramedWindow {
  const steps = window.length / spec.channels;
  if (!Number.isInteger(steps) || steps < spec.inputLength) {
    throw unfit(where, "window", lengthProblem(spec, window.length));
  }
  const frame = emptyFrame(spec);
  if (!frameBefore(frame, spec, scaler, rootsFor(scaler, window), steps)) {
    throw unfit(where, "window", valueProblem(spec, window, steps));
  }
  return frame;
}

/**
 * All rows whose targets are inside the range. Their windows may start before it: at a validation origin the past
 * is known. Rows with a missing value in the window, or in a target channel after it, are left out.
 */
export function frameHistory(
  spec: FrameSpec,
  scaler: Scaler,
  values: Float64Array,
  range: StepRange,
): TrainingSet {
  const history = rootsFor(scaler, values);
  const { inputLength, horizon, channels, targets } = spec;
  const first = Math.max(range.from, inputLength);
  const last = Math.min(range.to, Math.floor(history.length / channels)) - horizon;
  const most = Math.max(0, last - first + 1);
  const rowTargets = horizon * targets.length;
  const set = {
    windows: new Float32Array(most * inputLength * channels),
    targets: new Float32Array(most * rowTargets),
  };
  const frame = emptyFrame(spec);
  let count = 0;
  for (let origin = first; origin <= last; origin++) {
    const row = set.targets.subarray(count * rowTargets, (count + 1) * rowTargets);
    if (!frameBefore(frame, spec, scaler, history, origin)) continue;
    if (!frameTargets(row, frame, spec, history, origin)) continue;
    set.windows.set(frame.window, count++ * frame.window.length);
  }
  return {
    count,
    windows: set.windows.slice(0, count * frame.window.length),
    targets: set.targets.slice(0, count * rowTargets),
  };
}

function emptyFrame({ inputLength, channels, targets }: FrameSpec): FramedWindow {
  return {
    window: new Float32Array(inputLength * channels),
    offset: new Float64Array(targets.length),
    scale: new Float64Array(targets.length),
  };
}

/** Frames the L steps before `end`; false if one of them is not a finite number in single precision. */
function frameBefore(
  frame: FramedWindow,
  spec: FrameSpec,
  scaler: Scaler,
  values: Float64Array,
  end: number,
): boolean {
  const { channels, inputLength } = spec;
  const start = end - inputLength;
  for (let c = 0; c < channels; c++) {
    const level = levelOf(spec, scaler, values, end, c);
    const scale = scaleOf(spec, scaler, values, end, c);
    for (let t = 0; t < inputLength; t++) {
      const at = t * channels + c;
      frame.window[at] = (values[start * channels + at] - level) / scale;
      // The single-precision number is tested: a finite value can still be too large for the net.
      if (!Number.isFinite(frame.window[at])) return false;
    }
    const k = spec.targets.indexOf(c);
    if (k < 0) continue;
    frame.scale[k] = scale;
    frame.offset[k] = level;
  }
  return true;
}

function levelOf(
  { framing, inputLength, channels }: FrameSpec,
  scaler: Scaler,
  values: Float64Array,
  end: number,
  channel: number,
): number {
  if (framing.level === "none") return scaler.offset[channel];
  if (framing.level === "last") return values[(end - 1) * channels + channel];
  return meanOf(values, channels, channel, { from: end - inputLength, to: end });
}

function scaleOf(
  { framing, inputLength, channels }: FrameSpec,
  scaler: Scaler,
  values: Float64Array,
  end: number,
  channel: number,
): number {
  const unit = scaler.scale[channel];
  if (framing.scale === "none") return unit;
  const range = { from: end - inputLength, to: end };
  const mean = meanOf(values, channels, channel, range);
  let sum = 0;
  for (let t = range.from; t < range.to; t++) {
    const distance = values[t * channels + channel] - mean;
    sum += distance * distance;
  }
  return Math.max(Math.sqrt(sum / inputLength), FLATTEST * unit);
}

function meanOf(values: Float64Array, channels: number, channel: number, { from, to }: StepRange): number {
  let sum = 0;
  for (let t = from; t < to; t++) sum += values[t * channels + channel];
  return sum / (to - from);
}

function frameTargets(
  row: Float32Array,
  { offset, scale }: FramedWindow,
  { horizon, channels, targets }: FrameSpec,
  history: Float64Array,
  origin: number,
): boolean {
  for (let k = 0; k < targets.length; k++) {
    for (let h = 0; h < horizon; h++) {
      const value = history[(origin + h) * channels + targets[k]];
      const framed = Math.fround((value - offset[k]) / scale[k]);
      if (!Number.isFinite(framed)) return false;
      row[h * targets.length + k] = framed;
    }
  }
  return true;
}

function lengthProblem({ inputLength, channels }: FrameSpec, found: number): string {
  const expected = `${inputLength} steps or more of ${channels} channel${channels === 1 ? "" : "s"}`;
  return `has ${found} values; expected ${expected}, a multiple of ${channels} and at least ${inputLength * channels}`;
}

function valueProblem({ inputLength, channels }: FrameSpec, window: Float64Array, end: number): string {
  const start = (end - inputLength) * channels;
  const missing = window.findIndex((value, i) => i >= start && !Number.isFinite(value));
  if (missing < 0)
    return "has values too far from those the model was trained on; expected values in their range";
  const place = `step ${Math.floor(missing / channels)}, channel ${missing % channels}`;
  return `has ${window[missing]} at ${place}; expected a finite number`;
}

function unfit(where: string, field: string, problem: string): ForecastnetError {
  return new ForecastnetError("WINDOW_UNFIT", `${where}: ${field} ${problem}`, {
    context: { model: where, field },
  });
}
