// Who is compared: seasonal-naive, and models as a worker trains them, of one net and of several.

import type { Engine } from "../../src/engine/engine.ts";
import { type ForecastNetModel, inputLengthOf } from "../../src/models/forecastnet/model.ts";
import { assembleModel } from "../../src/retrain/training/assemble-model.ts";
import { candidatesFor } from "../../src/retrain/training/candidates.ts";
import { trainCandidates } from "../../src/retrain/training/train-model.ts";
import { quantile } from "../rig/report.ts";
import { type FittedForecaster, type Forecaster, levels } from "./protocol.ts";

/** Last season's values, with the quantiles of the errors that this made in the past. */
export const seasonalNaive: Forecaster = async (past, season) => {
  const errors = Array.from(past.subarray(season), (value, t) => value - past[t]);
  const errorQuantiles = levels.map((level) => quantile(errors, level));
  return async (values, origins) =>
    origins.map((origin) => {
      const point = values.slice(origin - season, origin);
      return { point, quantiles: errorQuantiles.map((error) => point.map((value) => value + error)) };
    });
};

/** Trains once, and assembles a model of each size from the same candidates. Null where the past is too short. */
export async function trainModels(
  engine: Engine,
  history: Float64Array,
  season: number,
  name: string,
  sizes: readonly number[],
): Promise<readonly ForecastNetModel[] | null> {
  const task = { horizon: season, season, channels: 1, targets: [0] };
  const series = [{ values: history, filled: null }];
  const request = { specs: candidatesFor(task, history.length), series, seed: 1 };
  const result = await trainCandidates(engine, request);
  if (result.outcome === "cancelled") throw new Error(`${name}: training was cancelled`);
  if (result.outcome === "failed") {
    process.stderr.write(`${name}: no model, seasonal-naive serves: ${result.reason}\n`);
    return null;
  }
  return sizes.map((members) => {
    const assembly = { key: name, version: String(members), members };
    return assembleModel(request, result.candidates, assembly).model;
  });
}

export function serve(engine: Engine, model: ForecastNetModel, paths: number): FittedForecaster {
  const inputLength = inputLengthOf(model);
  const median = (levels.length - 1) / 2;
  return async (values, origins) => {
    const tasks = origins.map((origin) => ({ model, window: values.slice(origin - inputLength, origin) }));
    const answers = await engine.forecast(tasks, { paths, levels, keepPaths: false });
    return answers.map((answer) => {
      if (answer instanceof Error) throw answer;
      return { point: answer.quantiles[median], quantiles: answer.quantiles };
    });
  };
}
