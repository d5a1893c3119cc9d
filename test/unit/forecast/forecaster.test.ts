import assert from "node:assert/strict";
import { test } from "node:test";
import type { Window } from "../../../src/domain.ts";
import { ModelStore } from "../../../src/forecast/model-store.ts";
import { coldForecastOf, Forecaster } from "../../../src/forecast/to-forecasts.ts";
import { createFamilies } from "../../../src/models/families.ts";
import type { Engine, EngineAnswer, EngineTask } from "../../../src/models/forecastnet/engine.ts";
import { ForecastnetError } from "../../../src/runtime/errors.ts";
import { silentLogger } from "../../../src/runtime/logging.ts";
import { openIdleEngine } from "../../pipeline/support/idle-engine.ts";
import { modelRecord } from "../../rig/model-record.ts";
import { type RandomModelOptions, randomModel } from "../../rig/random-model.ts";
import { seriesSettings } from "../../rig/series-settings.ts";

const levels = [0.1, 0.9];
const settings = seriesSettings({ horizon: 2, season: 2, history: 50, gapMax: 1 });

const windowOf = (seriesId: string, steps: number, channels = 1): Window => ({
  ...{
    seriesId,
    settings,
    interval: "PT1H",
    originMs: 1000,
    originStep: 0,
    originSlot: 0,
    placedBefore: 0,
    channels,
  },
  stepTimesMs: [2000, 3000],
  values: Float64Array.from({ length: steps * channels }, (_, i) => i),
  ...{ freshSteps: steps, filledShare: 0.25, skippedOrigins: 4, seasonalErrors: null },
});

type Answer = (task: EngineTask, index: number) => EngineAnswer;

/** A distribution whose numbers tell the series it was asked for. */
const answerOf: Answer = ({ model, window }) => {
  const { horizon, targets } = model.members[0].spec;
  const filled = (value: number) => new Float64Array(horizon * targets.length).fill(value);
  const centre = window[window.length - 1];
  return {
    mean: filled(centre),
    standardDeviation: filled(1),
    quantiles: [filled(centre - 1), filled(centre + 1)],
    paths: null,
  };
};

async function forecasterOf(models: readonly RandomModelOptions[], answer: Answer = answerOf) {
  const batches: number[] = [];
  const engine: Engine = {
    ...(await openIdleEngine()),
    forecast: async (tasks, options) => {
      assert.deepEqual(options, { levels, paths: 7 });
      batches.push(tasks.length);
      return tasks.map(answer);
    },
  };
  const families = createFamilies(engine);
  const store = new ModelStore({ settingsOf: () => settings, families });
  for (const options of models)
    assert.equal(store.put(modelRecord(randomModel({ horizon: 2, ...options }))), null);
  const logged: string[] = [];
  const logger = {
    ...silentLogger,
    warn: (facts: Readonly<Record<string, unknown>>, message: string) =>
      void logged.push(`${message}: ${facts.modelKey}@${facts.modelVersion} ${facts.reason} ${facts.detail}`),
  };
  const counted: string[] = [];
  const metrics = {
    forecastBatch: (tasks: number, seconds: number) => void counted.push(`${tasks} in ${seconds} s`),
    fallback: (reason: string) => void counted.push(reason),
    refused: () => assert.fail("nothing is refused here"),
  };
  let nowMs = 0;
  const clock = { nowMs: () => (nowMs += 250) };
  const forecaster = new Forecaster({
    models: store,
    families,
    levels,
    paths: 7,
    clock,
    metrics,
    logger,
  });
  return { forecaster, store, batches, logged, counted };
}

test("series with a model and the past it needs are forecast in one batch, the others cold, in the order they came", async () => {
  const { forecaster, batches, counted } = await forecasterOf([
    { key: "a", version: "v3", spec: { inputLength: 5 } },
    { key: "young", spec: { inputLength: 5 } },
    { key: "d" },
  ]);
  const windows = [
    windowOf("a", 5),
    windowOf("cold", 5),
    windowOf("young", 4),
    windowOf("lone", 1),
    windowOf("d", 6),
  ];
  const answers = [...(await forecaster.forecast(windows))];
  assert.equal(answers[3], null);
  const forecasts = answers.filter((forecast) => forecast !== null);
  assert.deepEqual(
    forecasts.map(({ id, tier, method, modelKey, modelVersion }) => [
      id,
      tier,
      method,
      modelKey,
      modelVersion,
    ]),
    [
      ["a@1000/v3", "model", "forecastnet", "a", "v3"],
      ["cold@1000/persistence-1", "cold", "persistence", "cold", "persistence-1"],
      ["young@1000/persistence-1", "cold", "persistence", "young", "persistence-1"],
      ["d@1000/v1", "model", "forecastnet", "d", "v1"],
    ],
  );
  const { mean, standardDeviation, quantiles } = forecasts[0];
  assert.deepEqual(
    { mean, standardDeviation, quantiles },
    {
      mean: [4, 4],
      standardDeviation: [1, 1],
      quantiles: [
        { level: 0.1, values: [3, 3] },
        { level: 0.9, values: [5, 5] },
      ],
    },
  );
  assert.equal(forecasts[0].window, windows[0]);
  assert.deepEqual(forecasts[3].mean, [5, 5]);
  assert.deepEqual([batches, counted], [[2], ["2 in 0.25 s"]]);
});

test("without a single model the engine is not asked, and the forecasts are those of the cold tier", async () => {
  const { forecaster, batches } = await forecasterOf([]);
  const windows = [windowOf("a", 5), windowOf("lone", 1)];
  assert.deepEqual(
    [...(await forecaster.forecast(windows))],
    windows.map((window) => coldForecastOf(window, levels)),
  );
  assert.deepEqual(batches, []);
});

test("nor is it asked when no window of the batch has a model", async () => {
  const { forecaster, batches } = await forecasterOf([{ key: "elsewhere" }]);
  assert.equal([...(await forecaster.forecast([windowOf("a", 5)]))][0]?.tier, "cold");
  assert.deepEqual(batches, []);
});

test("a window whose model fails is forecast cold, counted each time and logged once per model", async () => {
  const failing: Answer = (task, index) =>
    task.model.key === "a" ? new ForecastnetError("WINDOW_UNFIT", "no good") : answerOf(task, index);
  const { forecaster, store, logged, counted } = await forecasterOf([{ key: "a" }, { key: "b" }], failing);
  const windows = [windowOf("a", 5), windowOf("b", 5), windowOf("a", 5)];
  const answers = [...(await forecaster.forecast(windows))];
  const tiers = answers.map((forecast) => `${forecast?.window.seriesId} ${forecast?.tier}`);
  assert.deepEqual(tiers, ["a cold", "b model", "a cold"]);
  assert.deepEqual(counted.slice(1), ["window-unfit", "window-unfit"]);
  assert.deepEqual(logged, ["model failed, its series is forecast cold: a@v1 window-unfit no good"]);
  store.put(modelRecord(randomModel({ key: "a", version: "v2", horizon: 2 })));
  Array.from(await forecaster.forecast(windows));
  assert.equal(logged.length, 2);
});

test("a model trained on another number of channels than its series has is not asked", async () => {
  const { forecaster, batches, logged, counted } = await forecasterOf([
    { key: "a", spec: { channels: 2, targets: [0, 1] } },
    { key: "b", spec: { channels: 2, targets: [0, 1] } },
  ]);
  const forecasts = [...(await forecaster.forecast([windowOf("a", 8), windowOf("b", 8, 2)]))];
  assert.deepEqual(
    forecasts.map((forecast) => [forecast?.tier, forecast?.mean.length]),
    [
      ["cold", 2],
      ["model", 4],
    ],
  );
  assert.deepEqual([batches, counted[0]], [[1], "channels"]);
  assert.match(logged[0], /a@v1 channels model a@v1 was trained on 2 channels, its series has 1$/);
});

test("a broken engine fails the batch instead of turning the fleet cold", async () => {
  const broken = new ForecastnetError("ENGINE_FAILED", "gone");
  const { forecaster } = await forecasterOf([{ key: "a" }], () => {
    throw broken;
  });
  await assert.rejects(async () => forecaster.forecast([windowOf("a", 5)]), broken);
});
