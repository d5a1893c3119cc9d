// Baselines as model families: forecasters without weights. A model is the shape of its series, its version is fixed, and
// training only scores it.

import { ForecastnetError } from "../runtime/errors.ts";
import type { BaselineForecast } from "./baseline.ts";
import type {
  FamilyResult,
  FamilyTask,
  ForecastAnswer,
  ForecastInput,
  Model,
  ModelFamily,
} from "./family.ts";
import { countProblems } from "./field-problems.ts";
import { foldsOf } from "./folds.ts";
import { decodeEnvelope, encodeEnvelope, parseHeaderJson, readSections } from "./model-envelope.ts";
import { scoreOnFolds } from "./score-on-folds.ts";

export interface BaselineModel extends Model {
  readonly horizon: number;
  readonly season: number;
  readonly channels: number;
}

interface BaselineRule {
  readonly name: string;
  readonly version: string;
  inputStepsOf(model: BaselineModel): number;
  /** Null when the input lacks what the rule needs. */
  forecast(input: ForecastInput, levels: readonly number[]): BaselineForecast | null;
}

export interface BaselineFamily extends ModelFamily<BaselineModel> {
  /** The baseline for a series of this shape. */
  modelFor(key: string, shape: Pick<BaselineModel, "horizon" | "season" | "channels">): BaselineModel;
}

export function createBaseline(rule: BaselineRule): BaselineFamily {
  const { name, version } = rule;
  const forecastOne = (model: BaselineModel, input: ForecastInput, levels: readonly number[]) => {
    const { values, channels } = input;
    const isSound = values.length >= rule.inputStepsOf(model) * channels && values.every(Number.isFinite);
    return (isSound ? rule.forecast(input, levels) : null) ?? unfitWindow(model, rule.inputStepsOf(model));
  };
  const family: BaselineFamily = {
    name,
    modelFor: (key, { horizon, season, channels }) => ({
      family: name,
      key,
      version,
      horizon,
      season,
      channels,
    }),
    shapeOf: (model) => ({
      horizon: model.horizon,
      channels: model.channels,
      targets: Array.from({ length: model.channels }, (_, c) => c),
      inputSteps: rule.inputStepsOf(model),
    }),
    describe: ({ horizon, season }) => JSON.stringify({ family: name, horizon, season }),
    forecast: (tasks, { levels }) =>
      tasks.map(({ model, input }): ForecastAnswer => forecastOne(model, input, levels)),
    train: (task, signal) => trainBaseline(family, task, signal),
    encode: (model, storage) => {
      const { key, version, horizon, season, channels } = model;
      const header = { family: name, key, version, horizon, season, channels };
      return encodeEnvelope(JSON.stringify(header), storage, [], `model ${key}@${version}`);
    },
    decode: (bytes, where) => decodeBaseline(bytes, name, where),
    release: () => undefined,
  };
  return family;
}

async function trainBaseline(
  family: BaselineFamily,
  { key, plan, channels, series }: FamilyTask,
  signal: AbortSignal,
): Promise<FamilyResult<BaselineModel>> {
  const model = family.modelFor(key, { ...plan, channels });
  const { inputSteps } = family.shapeOf(model);
  const folds = foldsOf(series, { horizon: plan.horizon, channels, longest: inputSteps });
  const scored = await scoreOnFolds({
    family,
    modelOf: () => model,
    season: plan.season,
    channels,
    series,
    folds,
  });
  if (signal.aborted) return { outcome: "cancelled" };
  return typeof scored === "string"
    ? { outcome: "failed", reason: scored }
    : { outcome: "trained", model, folds: scored };
}

function decodeBaseline(bytes: Uint8Array, family: string, where: string): BaselineModel {
  const { header, numbers } = decodeEnvelope(bytes, where);
  const fields = parseHeaderJson(header, where);
  const { key, version, horizon, season, channels } = fields;
  const problems = [
    ...countProblems("horizon", horizon),
    ...countProblems("season", season),
    ...countProblems("channels", channels),
    ...(fields.family === family ? [] : [`family: ${JSON.stringify(fields.family)}; expected "${family}"`]),
    ...(typeof key === "string" && key !== "" ? [] : ["key: expected a name"]),
    ...(typeof version === "string" && version !== "" ? [] : ["version: expected a name"]),
  ];
  if (problems.length > 0)
    throw new ForecastnetError("MODEL_UNFIT", `${where}: the header is unfit: ${problems.join("; ")}`);
  readSections(numbers, [], where);
  return { family, key, version, horizon, season, channels } as BaselineModel;
}

function unfitWindow({ family, key }: Model, needed: number): ForecastnetError {
  const message = `${family} model of ${key}: the window must have ${needed} steps or more without a gap`;
  return new ForecastnetError("WINDOW_UNFIT", message, { context: { model: key, field: "window" } });
}
