// The linear family: every step ahead is a weighted sum of the last values, fitted in closed form. Its distribution is that of
// its errors on parts of the history that the fit had not seen, step by step.
//
// Training tries windows of several lengths in several frames and keeps the one with the least CRPS on the folds.
//
// Legend: τ steps ahead, T targets (all channels); an output is one step of one target.

import { ForecastnetError } from "../../runtime/errors.ts";
import { yieldToEventLoop } from "../../runtime/waiting.ts";
import {
  type Distribution,
  type FamilyResult,
  type FamilyTask,
  type FoldScores,
  type ForecastAnswer,
  type Model,
  type ModelFamily,
  type Scaler,
  type TrainingSeries,
  unnamed,
} from "../family.ts";
import { isRecord } from "../field-problems.ts";
import { type Fold, foldsOf, isFilled, stepsOf } from "../folds.ts";
import { type FrameSpec, frameWindow } from "../forecastnet/framing.ts";
import { chooseTrial, leastSteps, type Task } from "../forecastnet/training/candidates.ts";
import { fitScalers, frameRows } from "../forecastnet/training/training-rows.ts";
import {
  decodeEnvelope,
  encodeEnvelope,
  parseHeaderJson,
  readSections,
  type Section,
  unfit,
} from "../model-envelope.ts";
import { errorTable, scoreOnFolds } from "../score-on-folds.ts";
import { applyMap, chooseRule, fitMap, type LinearRule, type MapShape } from "./linear-map.ts";

export interface LinearModel extends Model {
  readonly frame: FrameSpec;
  readonly scaler: Scaler;
  /** [input][step][target], in units of the frame. */
  readonly map: Float32Array;
  /** [step][target] */
  readonly constant: Float32Array;
  /** Held-out errors in units of the frame: [target][step][error], ascending within a step. */
  readonly errors: Float32Array;
}

export const linear: ModelFamily<LinearModel> = {
  name: "linear",
  shapeOf: ({ frame: { horizon, channels, targets, inputLength } }) => ({
    horizon,
    channels,
    targets,
    inputSteps: inputLength,
  }),
  describe: ({ frame }) => JSON.stringify({ family: "linear", ...frame }),
  forecast: (tasks, { levels }) =>
    tasks.map(({ model, input }): ForecastAnswer => {
      try {
        return forecastOne(model, input.values, levels);
      } catch (error) {
        if (error instanceof ForecastnetError) return error;
        throw error;
      }
    }),
  train: trainLinear,
  encode: encodeLinear,
  decode: decodeLinear,
  release: () => undefined,
};

function shapeOfMap(frame: FrameSpec): MapShape {
  return {
    windowSize: frame.inputLength * frame.channels,
    targets: frame.targets.length,
    spec: frame,
  };
}

function forecastOne(model: LinearModel, values: Float64Array, levels: readonly number[]): Distribution {
  const { frame, scaler, errors, key, version } = model;
  const { horizon, targets } = frame;
  const framed = frameWindow(frame, scaler, values, `model ${key}@${version}`);
  const centres = applyMap(model, framed.window, 0, framed.window.length);
  const rows = targets.length * horizon;
  const perRow = errors.length / rows;
  const mean = new Float64Array(rows);
  const standardDeviation = new Float64Array(rows);
  const quantiles = levels.map(() => new Float64Array(rows));
  for (let row = 0; row < rows; row++) {
    const [t, h] = [Math.floor(row / horizon), row % horizon];
    const scale = framed.scale[t];
    const centre = framed.offset[t] + scale * centres[h * targets.length + t];
    const own = errors.subarray(row * perRow, (row + 1) * perRow);
    const { mean: bias, deviation } = momentsOf(own);
    mean[row] = centre + scale * bias;
    standardDeviation[row] = scale * deviation;
    for (const [l, level] of levels.entries()) quantiles[l][row] = centre + scale * quantileOf(own, level);
  }
  return { mean, standardDeviation, quantiles };
}

function momentsOf(errors: Float32Array): { readonly mean: number; readonly deviation: number } {
  let sum = 0;
  let squares = 0;
  for (const error of errors) {
    sum += error;
    squares += error * error;
  }
  const mean = sum / errors.length;
  return { mean, deviation: Math.sqrt(Math.max(0, squares / errors.length - mean * mean)) };
}

/** Each error is at the middle of its share of probability; quantiles between two errors are linear. */
function quantileOf(ascending: Float32Array, level: number): number {
  const position = Math.min(Math.max(level * ascending.length - 0.5, 0), ascending.length - 1);
  const below = Math.floor(position);
  const above = Math.min(below + 1, ascending.length - 1);
  return ascending[below] + (position - below) * (ascending[above] - ascending[below]);
}

async function trainLinear(task: FamilyTask, signal: AbortSignal): Promise<FamilyResult<LinearModel>> {
  const { plan, channels, series } = task;
  const { horizon, season, effort } = plan;
  const shape: Task = {
    horizon,
    season,
    channels,
    targets: Array.from({ length: channels }, (_, c) => c),
  };
  const trial = chooseTrial({ form: "auto", effort }, shape, series);
  if (trial === null) {
    const longest = Math.max(...series.map((one) => stepsOf(one, channels)));
    const needed = leastSteps({ form: "auto", effort }, shape);
    return { outcome: "failed", reason: `the longest history has ${longest} steps; ${needed} are needed` };
  }
  const longest = Math.max(...trial.specs.map(({ inputLength }) => inputLength));
  const folds = foldsOf(series, { horizon, channels, longest });
  let best: Candidate | null = null;
  for (const { inputLength, targets, framing } of trial.specs) {
    if (signal.aborted) return { outcome: "cancelled" };
    const frame = { inputLength, horizon, channels, targets, framing };
    const candidate = await fitCandidate(task, frame, folds);
    if (candidate !== null && (best === null || candidate.folds.crps < best.folds.crps)) best = candidate;
    await yieldToEventLoop();
  }
  if (best === null)
    return { outcome: "failed", reason: "the history has no window without a gap that is long enough" };
  return { outcome: "trained", model: best.model, folds: best.folds };
}

interface Candidate {
  readonly model: LinearModel;
  readonly folds: FoldScores;
}

/** Null when a part of the history has no row to fit or no origin to score. */
async function fitCandidate(
  { key, series, plan, seed }: FamilyTask,
  frame: FrameSpec,
  folds: readonly Fold[],
): Promise<Candidate | null> {
  if (folds.some(({ origins }) => origins.length === 0)) return null;
  const fitTo = (ends: readonly number[], known: LinearRule | null) =>
    fitPart(series, { key, frame, ends, known, seed });
  const fitted = folds.map(({ trainTo }) => fitTo(trainTo, null));
  const twins = fitted.filter((one) => one !== null);
  if (twins.length < fitted.length) return null;
  const errors = twins.map(({ model }, f) => errorsOn(folds[f], model, series));
  const whole = fitTo(
    series.map((one) => stepsOf(one, frame.channels)),
    twins[twins.length - 1].rule,
  );
  if (whole === null) return null;
  const scored = await scoreOnFolds({
    family: linear,
    // A fold must not be scored with its own errors.
    modelOf: (_, f) => ({
      ...twins[f].model,
      errors: errorTable(
        errors.filter((_, other) => other !== f),
        frame,
      ),
    }),
    season: plan.season,
    channels: frame.channels,
    series,
    folds,
  });
  if (typeof scored === "string") return null;
  return { model: { ...whole.model, errors: errorTable(errors, frame) }, folds: scored };
}

interface PartToFit {
  readonly key: string;
  readonly frame: FrameSpec;
  /** Per series: the steps before this are fitted. */
  readonly ends: readonly number[];
  /** Null to choose one. */
  readonly known: LinearRule | null;
  readonly seed: number;
}

function fitPart(
  series: readonly TrainingSeries[],
  { key, frame, ends, known, seed }: PartToFit,
): { readonly model: LinearModel; readonly rule: LinearRule } | null {
  const scalers = fitScalers(series, frame.channels, ends);
  const rows = frameRows(series, { spec: frame, scalers, ends, seed });
  if (rows.count === 0) return null;
  const shape = shapeOfMap(frame);
  const rule = known ?? chooseRule(shape, rows);
  const { map, constant } = fitMap(shape, rows, rule);
  const model: LinearModel = {
    family: "linear",
    key,
    version: unnamed,
    frame,
    scaler: scalers.served,
    map: Float32Array.from(map),
    constant: Float32Array.from(constant),
    errors: new Float32Array(frame.targets.length * frame.horizon),
  };
  return { model, rule };
}

/** Errors of the model at the origins of the fold, [target][step][origin], in units of the frame; NaN where a value was filled. */
function errorsOn({ origins }: Fold, model: LinearModel, series: readonly TrainingSeries[]): Float32Array {
  const { frame, scaler } = model;
  const { horizon, channels, targets, inputLength } = frame;
  const errors = new Float32Array(targets.length * horizon * origins.length);
  for (const [i, { series: s, step }] of origins.entries()) {
    const { values } = series[s];
    const window = values.subarray((step - inputLength) * channels, step * channels);
    const framed = frameWindow(frame, scaler, window);
    const centres = applyMap(model, framed.window, 0, framed.window.length);
    for (const [t, target] of targets.entries()) {
      for (let h = 0; h < horizon; h++) {
        const row = t * horizon + h;
        const actual = isFilled(series[s], step + h) ? Number.NaN : values[(step + h) * channels + target];
        const framedActual = (actual - framed.offset[t]) / framed.scale[t];
        errors[row * origins.length + i] = framedActual - centres[h * targets.length + t];
      }
    }
  }
  return errors;
}

function encodeLinear(model: LinearModel, storage: "float32" | "float16"): Uint8Array {
  const { key, version, frame, scaler, map, constant, errors } = model;
  const errorsPerStep = errors.length / (frame.horizon * frame.targets.length);
  const header = { family: "linear", key, version, frame, scaler, errorsPerStep };
  const values = [map, constant, errors];
  const sections = sectionsOf(frame, errorsPerStep, storage);
  const parts = sections.map((section, i) => ({ section, values: values[i] }));
  return encodeEnvelope(JSON.stringify(header), storage, parts, `model ${key}@${version}`);
}

function decodeLinear(bytes: Uint8Array, where: string): LinearModel {
  const { storage, header: headerBytes, numbers } = decodeEnvelope(bytes, where);
  const { family, key, version, frame, scaler, errorsPerStep } = parseHeaderJson(headerBytes, where);
  if (family !== "linear") throw unfit(where, "family", `is ${JSON.stringify(family)}; expected "linear"`);
  if (typeof key !== "string" || typeof version !== "string" || key === "" || version === "")
    throw unfit(where, "name", "is missing; expected a key and a version");
  if (!isFrame(frame)) throw unfit(where, "frame", `is ${JSON.stringify(frame)}; expected a frame`);
  if (!isScaler(scaler, frame.channels))
    throw unfit(where, "scaler", `is ${JSON.stringify(scaler)}; expected one for ${frame.channels} channels`);
  if (!isCount(errorsPerStep))
    throw unfit(
      where,
      "errorsPerStep",
      `is ${JSON.stringify(errorsPerStep)}; expected a whole number above 0`,
    );
  const sections = sectionsOf(frame, errorsPerStep, storage);
  const [map, constant, errors] = readSections(numbers, sections, `${where}: model ${key}@${version}`);
  return { family: "linear", key, version, frame, scaler, map, constant, errors };
}

function sectionsOf(
  frame: FrameSpec,
  errorsPerStep: number,
  storage: Section["storage"],
): readonly Section[] {
  const { windowSize, targets } = shapeOfMap(frame);
  const outputs = frame.horizon * targets;
  return [
    { name: "map", count: windowSize * outputs, storage },
    { name: "constant", count: outputs, storage: "float32" },
    { name: "errors", count: outputs * errorsPerStep, storage },
  ];
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) > 0;
}

function isFrame(value: unknown): value is FrameSpec {
  if (!isRecord(value) || !isRecord(value.framing)) return false;
  const { inputLength, horizon, channels, targets } = value;
  const { level, scale } = value.framing;
  if (!isCount(inputLength) || !isCount(horizon) || !isCount(channels)) return false;
  const isTarget = (target: unknown) => Number.isInteger(target) && (target as number) < channels;
  const isFramed =
    ["none", "mean", "last"].includes(String(level)) && ["none", "deviation"].includes(String(scale));
  return isFramed && Array.isArray(targets) && targets.length > 0 && targets.every(isTarget);
}

function isScaler(value: unknown, channels: number): value is Scaler {
  if (!isRecord(value)) return false;
  const isNumbers = (numbers: unknown): numbers is number[] =>
    Array.isArray(numbers) && numbers.length === channels && numbers.every(Number.isFinite);
  return isNumbers(value.offset) && isNumbers(value.scale) && !value.scale.includes(0);
}
