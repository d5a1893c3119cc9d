// The forecasts that are calibrated, as the product makes them: the cold tier through a real Series, and a ForecastNet
// model trained on what lies before the judged part. One channel; a forecast at every step.

import type { SeriesSettings } from "../../src/domain.ts";
import { coldForecastOf } from "../../src/forecast/to-forecasts.ts";
import type { Engine } from "../../src/models/forecastnet/engine.ts";
import { type ForecastNetModel, inputLengthOf } from "../../src/models/forecastnet/model.ts";
import { candidatesFor, schedules } from "../../src/models/forecastnet/training/candidates.ts";
import { assembleModel } from "../../src/models/forecastnet/training/ensemble.ts";
import { trainCandidates } from "../../src/models/forecastnet/training/train-candidates.ts";
import { loadConfig } from "../../src/runtime/config/load.ts";
import { seriesRules } from "../../src/runtime/config/series-rules.ts";
import { Series } from "../../src/window/series.ts";
import type { SampleSeries } from "../accuracy/sample-series.ts";
import { type Scenario, scenarioOf } from "./scenario.ts";

/** As many as a worker draws. */
const { paths } = loadConfig({ argv: [], env: {} }).engine;

export const levels: readonly number[] = [0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975];

export interface RawForecasts {
  /** The origin of the first forecast; the others follow step by step, up to the last value. */
  readonly first: number;
  /** [origin − first][level][step] */
  readonly quantiles: Float32Array;
}

const defaults = seriesRules(loadConfig({ argv: [], env: {} }).series);
const hourMs = 3_600_000;
/** As `bench:accuracy` caps it. */
const longestPast = 3_000;
const seasonsSeen = 2;

/** The cold tier from 0.6 N on: the fifth before the judged part is there to warm up on. */
export function coldForecasts({ values, season, from }: Scenario): RawForecasts {
  const settings: SeriesSettings = {
    ...defaults("replayed"),
    interval: "PT1H",
    horizon: season,
    season,
    history: 60 * season,
  };
  const series = new Series("replayed", settings);
  const first = Math.floor(0.75 * from);
  const quantiles = new Float32Array((values.length - first) * levels.length * season);
  for (let t = 0; t < values.length - 1; t++) {
    series.push({ seriesId: "replayed", timeMs: t * hourMs, values: [values[t]] });
    if (t + 1 < first) continue;
    const forecast = coldForecastOf(series.takeWindow(levels), levels);
    if (forecast === null) throw new Error(`there is no cold forecast at origin ${t + 1}`);
    forecast.quantiles.forEach(({ values }, l) => {
      quantiles.set(values, ((t + 1 - first) * levels.length + l) * season);
    });
  }
  return { first, quantiles };
}

/** Four nets that see two seasons, one a frame; the two that are best together. */
export async function trainOnPast(engine: Engine, sample: SampleSeries): Promise<ForecastNetModel> {
  const { values, season, from, name } = scenarioOf(sample, 0);
  const history = values.slice(Math.max(0, from - longestPast), from);
  const task = { horizon: season, season, channels: 1, targets: [0] };
  const specs = candidatesFor(task, history.length).filter(
    ({ inputLength }) => inputLength === seasonsSeen * season,
  );
  const series = [{ values: history, filled: null }];
  const request = { specs, series, seed: 1, schedule: schedules.thorough, members: 2 };
  const result = await trainCandidates(engine, request);
  if (result.outcome !== "trained") throw new Error(`${name}: training ended as ${result.outcome}`);
  return assembleModel(request, result.candidates, { key: name, version: "1", members: 2 }).model;
}

/** A model's forecasts from the start of the judged part on: it is new there. */
export async function modelForecasts(
  engine: Engine,
  model: ForecastNetModel,
  { values, season, from }: Scenario,
): Promise<RawForecasts> {
  const inputLength = inputLengthOf(model);
  const origins = Array.from({ length: values.length - from }, (_, i) => from + i);
  const tasks = origins.map((origin) => ({ model, window: values.slice(origin - inputLength, origin) }));
  const answers = await engine.forecast(tasks, { paths, levels });
  const quantiles = new Float32Array(origins.length * levels.length * season);
  answers.forEach((answer, i) => {
    if (answer instanceof Error) throw answer;
    answer.quantiles.forEach((quantile, l) => {
      quantiles.set(quantile, (i * levels.length + l) * season);
    });
  });
  return { first: from, quantiles };
}
