// The linear family: every step ahead is a weighted sum of the last values. Its distribution is that of its errors on parts of
// the history that the fit had not seen. train-linear.ts fits it in closed form, in a fraction of a second.

import {
  type FamilyResult,
  type FamilyTask,
  type ModelFamily,
  type Scaler,
  type Storage,
  unnamed,
} from "../family.ts";
import { countProblems } from "../field-problems.ts";
import {
  decodeEnvelope,
  encodeEnvelope,
  parseHeaderJson,
  readSections,
  type Section,
  unfit,
} from "../model-envelope.ts";
import type { MapShape } from "../regression/affine-map.ts";
import { featureCount, shapePoints } from "./error-model.ts";
import { forecastLinear } from "./forecast-linear.ts";
import type { LinearModel } from "./model.ts";
import { fitLinear, type LinearFit } from "./train-linear.ts";

export const linear: ModelFamily<LinearModel> = {
  name: "linear",
  shapeOf: ({ shape: { horizon, channels, length } }) => ({
    horizon,
    channels,
    targets: Array.from({ length: channels }, (_, c) => c),
    inputSteps: length,
  }),
  describe: ({ shape, serves }) => JSON.stringify({ family: "linear", ...shape, serves }),
  forecast: (tasks, { levels }) => forecastLinear(tasks, levels),
  train: trainLinear,
  encode: encodeLinear,
  decode: decodeLinear,
  release: () => undefined,
};

async function trainLinear(task: FamilyTask, signal: AbortSignal): Promise<FamilyResult<LinearModel>> {
  const fit = await fitLinear(task, signal);
  if (fit === null) return { outcome: "cancelled" };
  if (typeof fit === "string") return { outcome: "failed", reason: fit };
  const { folds, heldOut } = fit;
  return { outcome: "trained", model: modelOf(fit, task), folds, ...(heldOut === null ? {} : { heldOut }) };
}

function modelOf(
  { scaler, map, week, errors }: LinearFit,
  { key, plan, channels, series }: FamilyTask,
): LinearModel {
  const { horizon } = plan;
  const outputs = horizon * channels;
  const inputs = map.weights.length / outputs;
  const carry = new Float32Array(outputs * channels);
  for (let o = 0; o < outputs; o++) {
    for (let c = 0; c < channels; c++) {
      let sum = 0;
      for (let i = c; i < inputs; i += channels) sum += map.weights[o * inputs + i];
      carry[o * channels + c] = sum;
    }
  }
  return {
    family: "linear",
    key,
    version: unnamed,
    shape: { length: inputs / channels, horizon, channels },
    serves: series.length === 1 ? "series" : "cohort",
    scaler,
    weights: Float32Array.from(map.weights),
    carry,
    constant: Float32Array.from(map.constant),
    week: week && {
      profile: Float32Array.from(week.profile),
      shares: Float32Array.from(week.shares),
      weights: Float32Array.from(week.weights),
    },
    errors,
  };
}

function encodeLinear(model: LinearModel, storage: Storage): Uint8Array {
  const { key, version, shape, serves, scaler, weights, carry, constant, week, errors } = model;
  const { steps, low, high, limits, season } = errors;
  const sizes = week && {
    steps: week.profile.length / shape.channels,
    inputs: week.weights.length / constant.length,
  };
  const header = {
    family: "linear",
    key,
    version,
    shape,
    serves,
    scaler,
    season,
    ...(sizes && { week: sizes }),
  };
  const values = [weights, carry, constant, steps, low, high, errors.weights, limits];
  const ofWeek = week === null ? [] : [week.profile, week.shares, week.weights];
  const sections = [...sectionsOf(shape, storage), ...weekSections(shape, sizes, storage)];
  const parts = sections.map((section, i) => ({ section, values: [...values, ...ofWeek][i] }));
  return encodeEnvelope(JSON.stringify(header), storage, parts, `model ${key}@${version}`);
}

function decodeLinear(bytes: Uint8Array, where: string): LinearModel {
  const { storage, header, numbers } = decodeEnvelope(bytes, where);
  const {
    family,
    key,
    version,
    shape,
    serves,
    scaler,
    season,
    week: sizes = null,
  } = parseHeaderJson(header, where);
  if (family !== "linear") throw unfit(where, "family", `is ${JSON.stringify(family)}; expected "linear"`);
  if (typeof key !== "string" || typeof version !== "string" || key === "" || version === "")
    throw unfit(where, "name", "is missing; expected a key and a version");
  if (!isShape(shape))
    throw unfit(where, "shape", `is ${JSON.stringify(shape)}; expected whole numbers above 0`);
  if (serves !== "series" && serves !== "cohort")
    throw unfit(where, "serves", `is ${JSON.stringify(serves)}; expected "series" or "cohort"`);
  if (!isScaler(scaler, shape.channels))
    throw unfit(where, "scaler", `is ${JSON.stringify(scaler)}; expected one for ${shape.channels} channels`);
  if (season !== undefined && !isSeason(season, shape))
    throw unfit(where, "season", `is ${JSON.stringify(season)}; expected 1 to ${shape.length} steps`);
  if (sizes !== null && !isWeekSizes(sizes, shape))
    throw unfit(where, "week", `is ${JSON.stringify(sizes)}; expected its steps and inputs`);
  // Models of the first release have no season: their spread depends on the step only, and they have one shape.
  const sections = sectionsOf(shape, storage).slice(0, season === undefined ? 5 : undefined);
  const ofWeek = weekSections(shape, sizes, storage);
  const parts = readSections(numbers, [...sections, ...ofWeek], `${where}: model ${key}@${version}`);
  const [
    weights,
    carry,
    constant,
    steps,
    low,
    high = low,
    errorWeights = plainWeights,
    limits = plainLimits,
  ] = parts.slice(0, sections.length);
  const [profile, shares, inputs] = parts.slice(sections.length);
  const week = sizes === null ? null : { profile, shares, weights: inputs };
  const errors = { season: season ?? 1, steps, weights: errorWeights, limits, low, high };
  return { family: "linear", key, version, shape, serves, scaler, weights, carry, constant, week, errors };
}

/** The spread of a step is its own, in any situation. */
const plainWeights = Float32Array.from({ length: featureCount }, (_, f) => (f === 0 ? 1 : 0));
const plainLimits = Float32Array.of(1, 1);

/** Half precision is enough for weights of differences; the rest is small. */
function sectionsOf({ length, horizon, channels }: MapShape, storage: Storage): readonly Section[] {
  const outputs = horizon * channels;
  return [
    { name: "weights", count: outputs * length * channels, storage },
    { name: "carry", count: outputs * channels, storage: "float32" },
    { name: "constant", count: outputs, storage: "float32" },
    { name: "spread", count: outputs, storage: "float32" },
    { name: "shape", count: shapePoints, storage: "float32" },
    { name: "shape of high forecasts", count: shapePoints, storage: "float32" },
    { name: "spread weights", count: featureCount, storage: "float32" },
    { name: "spread limits", count: 2, storage: "float32" },
  ];
}

interface WeekSizes {
  /** Of the profile. */
  readonly steps: number;
  /** Numbers in the window of the maps that see no week. */
  readonly inputs: number;
}

function weekSections(
  { horizon, channels }: MapShape,
  sizes: WeekSizes | null,
  storage: Storage,
): readonly Section[] {
  if (sizes === null) return [];
  const outputs = horizon * channels;
  return [
    { name: "week", count: sizes.steps * channels, storage },
    { name: "shares of the week", count: outputs, storage: "float32" },
    { name: "weights of the week", count: outputs * sizes.inputs, storage },
  ];
}

function isWeekSizes(value: unknown, { length, channels }: MapShape): value is WeekSizes {
  const { steps, inputs } = (value ?? {}) as Partial<Record<keyof WeekSizes, unknown>>;
  return (
    [...countProblems("steps", steps), ...countProblems("inputs", inputs, { most: length * channels })]
      .length === 0
  );
}

function isShape(value: unknown): value is MapShape {
  const { length, horizon, channels } = (value ?? {}) as Partial<Record<keyof MapShape, unknown>>;
  const problems = Object.entries({ length, horizon, channels }).flatMap(([name, count]) =>
    countProblems(name, count),
  );
  return problems.length === 0;
}

function isSeason(value: unknown, { length }: MapShape): value is number {
  return countProblems("season", value, { most: length }).length === 0;
}

function isScaler(value: unknown, channels: number): value is Scaler {
  const { offset, scale, ofRoots = false } = (value ?? {}) as Partial<Record<keyof Scaler, unknown>>;
  const isNumbers = (numbers: unknown): numbers is number[] =>
    Array.isArray(numbers) && numbers.length === channels && numbers.every(Number.isFinite);
  return isNumbers(offset) && isNumbers(scale) && !scale.includes(0) && typeof ofRoots === "boolean";
}
