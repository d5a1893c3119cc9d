// The forecasters that are compared: models of our families, trained on the past and asked as a worker asks them.

import type { Families } from "../../src/models/families.ts";
import type { Model } from "../../src/models/family.ts";
import type { Engine } from "../../src/models/forecastnet/engine.ts";
import type { ForecastNetModel } from "../../src/models/forecastnet/model.ts";
import { candidatesFor } from "../../src/models/forecastnet/training/candidates.ts";
import { assembleModel } from "../../src/models/forecastnet/training/ensemble.ts";
import { trainCandidates } from "../../src/models/forecastnet/training/train-candidates.ts";
import { seasonalErrorsBefore } from "../../src/models/score-on-folds.ts";
import { type FittedForecaster, levels } from "./protocol.ts";

/** Trains the candidates once and assembles a model of each size from them. Null where the past is too short. */
export async function trainNets(
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

/** Asks a model at every origin with what a window would hold there. Its point is the median. */
export function serve(families: Families, model: Model, season: number, paths: number): FittedForecaster {
  const { horizon, channels, inputSteps } = families.of(model).shapeOf(model);
  const median = (levels.length - 1) / 2;
  return async (values, origins) => {
    const series = { values, filled: null };
    const tasks = origins.map((origin) => ({
      model,
      input: {
        values: values.slice(origin - inputSteps, origin),
        channels,
        settings: { horizon, season },
        seasonalErrors: seasonalErrorsBefore(series, { origin, season, channels, levels }),
      },
    }));
    return (await families.forecast(tasks, { paths, levels })).map((answer) => {
      if (answer instanceof Error) throw answer;
      return { point: answer.quantiles[median], quantiles: answer.quantiles };
    });
  };
}
