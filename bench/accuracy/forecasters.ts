// Who is compared: seasonal-naive, the model a worker would train, and the paper's own form trained as published.

import type { Engine } from "../../src/engine/engine.ts";
import type { ForecastNetModel } from "../../src/models/forecastnet/model.ts";
import { inputLengthOf } from "../../src/models/forecastnet/model.ts";
import { trainModel } from "../../src/retrain/train-model.ts";
import { type FittedForecaster, type Forecaster, levels } from "./protocol.ts";

/** Last season's values, with the quantiles of the errors that this made in the past. */
export const seasonalNaive: Forecaster = async (past, season) => {
  const errors = past.slice(season).map((value, t) => value - past[t]);
  errors.sort();
  const quantiles = levels.map((level) => {
    const position = level * (errors.length - 1);
    const below = Math.floor(position);
    const above = Math.min(below + 1, errors.length - 1);
    return errors[below] + (position - below) * (errors[above] - errors[below]);
  });
  return async (values, origins) =>
    origins.map((origin) => {
      const lastSeason = values.subarray(origin - season, origin);
      return quantiles.map((error) => Float64Array.from(lastSeason, (value) => value + error));
    });
};

/** As a worker trains it. */
export function trainedModel(
  engine: Engine,
  options: { readonly paths: number; readonly members: number },
): Forecaster {
  return async (past, season, name) => {
    const result = await trainModel(engine, {
      key: name,
      version: "1",
      task: { horizon: season, season, channels: 1, targets: [0] },
      history: past,
      seed: 1,
      members: options.members,
    });
    if (result.outcome !== "trained") {
      throw new Error(`${name}: ${result.outcome === "failed" ? result.reason : "training was cancelled"}`);
    }
    return serve(engine, result.model, options.paths);
  };
}

function serve(engine: Engine, model: ForecastNetModel, paths: number): FittedForecaster {
  const inputLength = inputLengthOf(model);
  return async (values, origins) => {
    const tasks = origins.map((origin) => ({ model, window: values.slice(origin - inputLength, origin) }));
    const answers = await engine.forecast(tasks, { paths, levels, keepPaths: false });
    return answers.map((answer) => {
      if (answer instanceof Error) throw answer;
      return answer.quantiles;
    });
  };
}
