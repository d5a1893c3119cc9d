// Forecasts of linear models, in batches of thousands. Works in arrays that are kept between forecasts; only the answers are new. They
// are plain arrays: a typed array of a few numbers takes longer to create and is copied by its readers.
//
// Every sum runs over the inputs in their order, so that a forecast does not depend on how outputs are grouped. The legend is in model.ts.

import { ForecastnetError } from "../../runtime/errors.ts";
import type { ForecastAnswer, ForecastInput, ForecastTask } from "../family.ts";
import { addProducts } from "../regression/affine-map.ts";
import { modulo } from "../regression/week-profile.ts";
import { rootOf, squareDistribution } from "../roots.ts";
import {
  type ErrorModel,
  emptyFeatures,
  type Features,
  featureCount,
  featuresInto,
  quantileOf,
  spreadOf,
} from "./error-model.ts";
import type { LinearModel } from "./model.ts";
import { windowUnit } from "./window-unit.ts";

export function forecastLinear(
  tasks: readonly ForecastTask<LinearModel>[],
  levels: readonly number[],
): readonly ForecastAnswer[] {
  const answers = new Array<ForecastAnswer>(tasks.length);
  for (let i = 0; i < tasks.length; i++) answers[i] = forecastOne(tasks[i].model, tasks[i].input, levels);
  return answers;
}

/** Scratch of models of one shape. */
interface Work {
  readonly window: Float64Array;
  /** The window in units of the model, relative to its last values. */
  readonly inputs: Float64Array;
  /** [channel] */
  readonly units: Float64Array;
  /** [output] */
  readonly centres: Float64Array;
  readonly features: Features;
}

/** A fleet has a handful of shapes. */
const mostShapes = 64;
const workByShape = new Map<number, Work>();

function workFor({ shape: { length, horizon, channels } }: LinearModel): Work {
  const [size, outputs] = [length * channels, horizon * channels];
  // Below 2^53: sizes of windows and forecasts are far below 2^20, channels below 2^10.
  const key = (size * 2 ** 20 + outputs) * 2 ** 10 + channels;
  let work = workByShape.get(key);
  if (work === undefined) {
    if (workByShape.size >= mostShapes) workByShape.clear();
    work = {
      window: new Float64Array(size),
      inputs: new Float64Array(size),
      units: new Float64Array(channels),
      centres: new Float64Array(outputs),
      features: emptyFeatures(outputs),
    };
    workByShape.set(key, work);
  }
  return work;
}

function forecastOne(
  model: LinearModel,
  { values, originStep }: ForecastInput,
  levels: readonly number[],
): ForecastAnswer {
  const { shape, errors, scaler } = model;
  const work = workFor(model);
  const { window, units, centres, features } = work;
  if (!takeWindow(window, values, scaler.ofRoots === true))
    return unfitWindow(model, Math.min(values.length, window.length));
  for (let c = 0; c < units.length; c++) units[c] = unitOf(model, window, c);
  writeCentres(model, originStep, work);
  featuresInto(features, { window, centres, units }, shape, errors.season);
  const answer = distributionOf(model, centres, features, levels);
  if (scaler.ofRoots) squareDistribution(answer);
  for (const mean of answer.mean) if (!Number.isFinite(mean)) return unfitWindow(model, window.length);
  return answer;
}

/** False where the last values are too few or not all finite. */
function takeWindow(window: Float64Array, values: Float64Array, isOfRoots: boolean): boolean {
  const first = values.length - window.length;
  if (first < 0) return false;
  for (let i = 0; i < window.length; i++) {
    const value = values[first + i];
    if (!Number.isFinite(value)) return false;
    window[i] = isOfRoots ? rootOf(value) : value;
  }
  return true;
}

/** What one unit of the model is in units of the series. */
function unitOf({ serves, scaler, shape }: LinearModel, window: Float64Array, channel: number): number {
  const scale = scaler.scale[channel];
  return serves === "series" ? scale : windowUnit(window, shape.channels, channel, scale);
}

/** The medians, in units of the window. */
function writeCentres(
  model: LinearModel,
  originStep: number,
  { window, inputs, units, centres }: Work,
): void {
  const { serves, scaler, weights, carry, constant } = model;
  const C = units.length;
  const last = window.length - C;
  writeWeekAhead(model, originStep, { inputs, into: centres });
  for (let c = 0; c < C; c++)
    for (let i = c; i < window.length; i += C) inputs[i] = (window[i] - window[last + c]) / units[c];
  for (let o = 0; o < centres.length; o++) {
    let sum = constant[o] + centres[o];
    for (let c = 0; c < C && serves === "series"; c++)
      sum += carry[o * C + c] * ((window[last + c] - scaler.offset[c]) / units[c]);
    centres[o] = sum;
  }
  addProducts(centres, weights, inputs, inputs.length);
  for (let o = 0; o < centres.length; o++) {
    const c = o % C;
    const zero = serves === "series" ? scaler.offset[c] : window[last + c];
    centres[o] = zero + units[c] * centres[o];
  }
}

/** `weekAhead`, without arrays of its own. `inputs` is scratch. */
function writeWeekAhead(
  { week, shape: { channels } }: LinearModel,
  originStep: number,
  { inputs, into }: { readonly inputs: Float64Array; readonly into: Float64Array },
): void {
  if (week === null) {
    into.fill(0);
    return;
  }
  const { profile, shares, weights } = week;
  const ahead = (originStep + 1) * channels;
  const count = weights.length / shares.length;
  for (let o = 0; o < into.length; o++) into[o] = shares[o] * profile[modulo(ahead + o, profile.length)];
  let phase = modulo(ahead - count, profile.length);
  for (let i = 0; i < count; i++) {
    inputs[i] = -profile[phase];
    phase = phase + 1 === profile.length ? 0 : phase + 1;
  }
  addProducts(into, weights, inputs, count);
}

interface PlainDistribution {
  readonly mean: number[];
  readonly standardDeviation: number[];
  readonly quantiles: readonly number[][];
}

function distributionOf(
  { shape: { horizon, channels }, errors }: LinearModel,
  centres: Float64Array,
  { values, heights }: Features,
  levels: readonly number[],
): PlainDistribution {
  const outputs = centres.length;
  const [low, high] = momentsOf(errors);
  const mean = new Array<number>(outputs);
  const standardDeviation = new Array<number>(outputs);
  // The spreads take the place of the first feature, which is not read again.
  for (let o = 0, at = 0, h = 0, c = 0; o < outputs; o++) {
    const spread = spreadOf(errors, values, o * featureCount, o);
    values[o * featureCount] = spread;
    at = c * horizon + h;
    mean[at] = centres[o] + spread * (low.mean + heights[o] * (high.mean - low.mean));
    standardDeviation[at] = spread * (low.deviation + heights[o] * (high.deviation - low.deviation));
    if (++c === channels) [c, h] = [0, h + 1];
  }
  const quantiles = new Array<number[]>(levels.length);
  for (let l = 0; l < levels.length; l++) {
    const ofLow = quantileOf(errors.low, levels[l]);
    const rise = errors.low === errors.high ? 0 : quantileOf(errors.high, levels[l]) - ofLow;
    const quantile = new Array<number>(outputs);
    for (let o = 0, h = 0, c = 0; o < outputs; o++) {
      quantile[c * horizon + h] = centres[o] + values[o * featureCount] * (ofLow + heights[o] * rise);
      if (++c === channels) [c, h] = [0, h + 1];
    }
    quantiles[l] = quantile;
  }
  return { mean, standardDeviation, quantiles };
}

interface Moments {
  readonly mean: number;
  readonly deviation: number;
}

function momentsOf({ low, high }: ErrorModel): readonly [Moments, Moments] {
  const ofLow = momentsOfShape(low);
  return [ofLow, low === high ? ofLow : momentsOfShape(high)];
}

function momentsOfShape(numbers: Float32Array): Moments {
  let sum = 0;
  let squares = 0;
  for (const number of numbers) {
    sum += number;
    squares += number * number;
  }
  const mean = sum / numbers.length;
  return { mean, deviation: Math.sqrt(Math.max(0, squares / numbers.length - mean * mean)) };
}

function unfitWindow({ key, version, shape }: LinearModel, found: number): ForecastnetError {
  const needed = shape.length * shape.channels;
  const problem =
    found < needed ? `has ${found} values` : "has values that are not finite, or too far from those fitted";
  return new ForecastnetError(
    "WINDOW_UNFIT",
    `model ${key}@${version}: window ${problem}; expected ${shape.length} steps of ${shape.channels} finite numbers`,
    { context: { model: key, field: "window" } },
  );
}
