// A model family that is written here, in under sixty lines, and goes the whole way of a model: it serves a series of a
// true worker on the embedded log, the gate judges it, it is promoted, and rolled back when it disappoints.

import assert from "node:assert/strict";
import { test } from "node:test";
import { modelRecordCodec } from "../../src/log/codec/model-record.ts";
import { Families } from "../../src/models/families.ts";
import {
  type Distribution,
  type ForecastAnswer,
  type Model,
  type ModelFamily,
  unnamed,
} from "../../src/models/family.ts";
import { foldsOf } from "../../src/models/folds.ts";
import { decodeEnvelope, encodeEnvelope, parseHeaderJson } from "../../src/models/model-envelope.ts";
import { normalQuantile } from "../../src/models/normal.ts";
import { scoreOnFolds } from "../../src/models/score-on-folds.ts";
import { ForecastnetError } from "../../src/runtime/errors.ts";
import { trainTask } from "../../src/training/train-task.ts";
import { Fleet } from "./support/fleet.ts";
import { hourOf } from "./support/readings.ts";
import { eventsOf, feed, kindsOf, type Law, noisy, wave } from "./support/retraining.ts";

/** Each step is the mean of the values at its place in the last eight seasons. One channel. */
interface SeasonMeanModel extends Model {
  readonly horizon: number;
  readonly season: number;
  readonly deviation: number;
}

const seasons = 8;

function forecastSeasonMean(
  model: SeasonMeanModel,
  values: Float64Array,
  levels: readonly number[],
): Distribution {
  const { horizon, season, deviation } = model;
  const mean = Float64Array.from({ length: horizon }, (_, h) => {
    const past = values.slice(-seasons * season).filter((_, i) => i % season === h % season);
    return past.reduce((sum, value) => sum + value, 0) / seasons;
  });
  const quantiles = levels.map((level) => mean.map((value) => value + deviation * normalQuantile(level)));
  return { mean, standardDeviation: mean.map(() => deviation), quantiles };
}

const seasonMean: ModelFamily<SeasonMeanModel> = {
  name: "season-mean",
  shapeOf: ({ horizon, season }) => ({ horizon, channels: 1, targets: [0], inputSteps: seasons * season }),
  describe: ({ season, deviation }) => JSON.stringify({ family: "season-mean", season, deviation }),
  forecast: (tasks, { levels }) =>
    tasks.map(({ model, input: { values } }): ForecastAnswer => {
      if (values.length >= seasons * model.season) return forecastSeasonMean(model, values, levels);
      return new ForecastnetError("WINDOW_UNFIT", `the window has fewer than ${seasons} seasons`);
    }),
  train: async ({ key, plan: { horizon, season }, series }, signal) => {
    if (signal.aborted) return { outcome: "cancelled" };
    const [{ values }] = series;
    const errors = values.slice(season).map((value, i) => (value - values[i]) ** 2);
    const deviation = Math.sqrt(errors.reduce((sum, error) => sum + error, 0) / errors.length / 2);
    const model = { family: "season-mean", key, version: unnamed, horizon, season, deviation };
    const folds = await scoreOnFolds({
      ...{ family: seasonMean, modelOf: () => model, season, channels: 1, series },
      folds: foldsOf(series, { horizon, channels: 1, longest: seasons * season }),
    });
    if (typeof folds === "string") return { outcome: "failed", reason: folds };
    return { outcome: "trained", model, folds };
  },
  encode: (model, storage) => encodeEnvelope(JSON.stringify(model), storage, [], `model ${model.key}`),
  decode: (bytes, where) =>
    parseHeaderJson(decodeEnvelope(bytes, where).header, where) as unknown as SeasonMeanModel,
  release: () => undefined,
};

const settings = {
  ...{ "series.family": "season-mean", "series.horizon": 6, "series.season": 6, "series.history": 240 },
  ...{ "output.levels": [0.025, 0.1, 0.5, 0.9, 0.975], "retrain.where": "worker", "retrain.maxAgeHours": 0 },
  ...{ "retrain.minHistory": 120, "retrain.tailSteps": 36, "retrain.probationSteps": 36 },
};

test("a family written in a test is judged, promoted, serves, and is rolled back when it disappoints", async (t) => {
  const families = new Families([seasonMean]);
  const openTrainer = async () => ({
    train: (tasks: readonly Parameters<typeof trainTask>[1][], signal: AbortSignal) =>
      Promise.all(tasks.map((task) => trainTask(families, task, signal))),
    close: async () => {},
  });
  const fleet = await Fleet.openFor(t, { settings, families: () => families, openTrainer });
  // Noise around a season, where eight seasons tell more than one; then a level that swings, which one season follows.
  const calm = noisy(wave(1, 6), 1, 1);
  const changing: Law = (hour) => calm(hour) + (hour < 126 ? 0 : 4 * Math.sin(hour / 20));
  await feed(fleet, { a: changing }, 0, 126);
  const promoted = await eventsOf(fleet, "a");
  assert.deepEqual(kindsOf(promoted).slice(0, 2), ["REQUESTED", "PROMOTED"], promoted[1]?.reason);
  assert.match(promoted[1].reason, /^better than seasonal-naive by [\d.]+ %$/);
  const version = promoted[1].toVersion;

  const [stored] = await fleet.read("forecastnet.models");
  const record = modelRecordCodec.decode(stored.value as Buffer);
  assert.deepEqual([record.family, record.version], ["season-mean", version]);
  assert.match(record.spec, /^\{"basis":"whole","family":"season-mean","season":6/);
  const served = (await fleet.forecasts()).filter(({ modelVersion }) => modelVersion === version);
  assert.ok(served.length >= 5, `${served.length} forecasts were made by the model`);
  assert.deepEqual(
    new Set(served.map(({ tier, method }) => `${tier} ${method}`)),
    new Set(["MODEL season-mean"]),
  );

  await fleet.play("restart", "settle");
  await feed(fleet, { a: changing }, 126, 180);
  const [rolledBack] = (await eventsOf(fleet, "a")).filter(({ kind }) => kind === "ROLLED_BACK");
  assert.deepEqual(
    [rolledBack?.fromVersion, rolledBack?.toVersion],
    [version, null],
    kindsOf(await eventsOf(fleet, "a")).join(),
  );
  assert.match(rolledBack.reason, /^worse than seasonal-naive by [\d.]+ %$/);
  const newest = (await fleet.forecasts()).at(-1);
  assert.deepEqual(
    [newest?.tier, newest?.method, hourOf(newest?.origin ?? 0)],
    ["COLD", "seasonal-naive", 179],
  );
});
