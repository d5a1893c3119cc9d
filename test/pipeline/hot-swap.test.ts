// A newly promoted model serves the next forecast, without a restart, on every engine.

import assert from "node:assert/strict";
import { test } from "node:test";
import { forecastModels } from "../../src/engine/forecast-model.ts";
import { createReferenceExecutor } from "../../src/engine/reference/reference-executor.ts";
import type { ExecutorSetup } from "../../src/engine/threads/protocol.ts";
import { openThreadedEngine } from "../../src/engine/threads/threaded-engine.ts";
import { avroCodec } from "../../src/log/codec/avro.ts";
import { orderKey } from "../../src/log/codec/model-keys.ts";
import type { EngineForecast } from "../../src/models/forecastnet/engine.ts";
import type { ForecastNetModel } from "../../src/models/forecastnet/model.ts";
import { modelRecord, storedModel } from "../rig/model-record.ts";
import { randomModel } from "../rig/random-model.ts";
import { Fleet } from "./support/fleet.ts";
import { hourly } from "./support/readings.ts";
import { until } from "./support/turns.ts";

const levels = [0.1, 0.5, 0.9];
const topic = "forecastnet.models";
const setups: readonly ExecutorSetup[] = [
  { kind: "reference" },
  { kind: "simd" },
  { kind: "tensorflow", memoryMb: 64 },
];
const values = Array.from({ length: 12 }, (_, i) => 5 + 3 * Math.sin(i / 2));

/** The model's median forecast by the reference executor. */
function medianOf(model: ForecastNetModel, seen: readonly number[]): readonly number[] {
  const task = { model, window: Float64Array.from(seen) };
  const [answer] = forecastModels(createReferenceExecutor(), [task], { paths: 16, levels });
  return [...(answer as EngineForecast).quantiles[1]];
}

function importOrder(model: ForecastNetModel) {
  const value = avroCodec("ModelOrder").encode({
    ...{ id: "1", modelKey: model.key, kind: "IMPORT", skipsGate: true, askedAt: 0 },
    record: avroCodec("ModelRecord").encode(modelRecord(model)),
  });
  return { topic, partition: 0, key: Buffer.from(orderKey(model.key)), value };
}

for (const setup of setups) {
  test(`on the ${setup.kind} engine the next forecast is the new model's`, async (t) => {
    const [old, young] = [randomModel({ version: "v1" }), randomModel({ version: "v2", seed: 7 })];
    const fleet = Fleet.emptyFor(t, {
      openEngine: () => openThreadedEngine({ setup, threads: 1 }),
      settings: { "output.levels": levels, "engine.paths": 16, "calibration.enabled": false },
    });
    const settings = { "max.message.bytes": "16777216" };
    await fleet.log.createTopics([{ topic, partitions: 1, compacted: true, settings }]);
    await fleet.log.append([storedModel(old)]);
    fleet.start();
    // TensorFlow takes its time to load.
    await until(() => fleet.worker.status().isReady, "the engine to open", 60_000);
    await fleet.play(...hourly("a", 0, values.slice(0, 10)), "settle");
    await fleet.log.append([importOrder(young)]);
    const isPromoted = () => fleet.logged.some(({ message }) => message === "model promoted");
    await fleet.until(isPromoted, "the order to be carried out");
    await fleet.play(...hourly("a", 10, values.slice(10)), "settle");
    const forecasts = (await fleet.forecasts()).slice(-3);
    assert.deepEqual(
      forecasts.map(({ modelVersion }) => modelVersion),
      ["v1", "v2", "v2"],
    );
    for (const [i, model] of [old, young, young].entries()) {
      const expected = medianOf(model, values.slice(i + 4, i + 10));
      const [, median] = forecasts[i].quantiles;
      for (const [h, value] of median.values.entries()) assert.ok(Math.abs(value - expected[h]) < 1e-3);
    }
  });
}
