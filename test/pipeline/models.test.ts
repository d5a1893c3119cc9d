// Series that have a model on the models topic: when the model serves, what a damaged one costs, and that a forecast has
// the same bytes whichever worker makes it.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { Outgoing } from "../../src/domain.ts";
import { forecastModels } from "../../src/engine/forecast-model.ts";
import { createInProcessEngine } from "../../src/engine/in-process-engine.ts";
import { createReferenceExecutor } from "../../src/engine/reference/reference-executor.ts";
import { openThreadedEngine } from "../../src/engine/threads/threaded-engine.ts";
import type { Engine, EngineForecast } from "../../src/models/forecastnet/engine.ts";
import { ForecastnetError } from "../../src/runtime/errors.ts";
import { storedModel } from "../rig/model-record.ts";
import { randomModel } from "../rig/random-model.ts";
import { Fleet, type FleetOptions, type Step } from "./support/fleet.ts";
import { hourly, hourOf } from "./support/readings.ts";

const levels = [0.1, 0.5, 0.9];
const settings = {
  "output.levels": levels,
  "output.precision": "double",
  "engine.paths": 16,
  "calibration.enabled": false,
};
const wave = (length: number, phase = 0) => Array.from({ length }, (_, i) => 5 + 3 * Math.sin(i / 2 + phase));

const description = { name: "reference", device: "cpu", threads: 1, detail: "no threads" } as const;
const openInProcess = async (): Promise<Engine> =>
  createInProcessEngine(createReferenceExecutor(), description);

/** A fleet that finds these records on the models topic when it starts. */
async function fleetWith(
  t: TestContext | null,
  models: readonly Outgoing[],
  options: FleetOptions = {},
): Promise<Fleet> {
  const { partitions = 1 } = options;
  const fleet = new Fleet({ settings, openEngine: openInProcess, ...options });
  t?.after(() => fleet.close());
  const forModels = { topic: "forecastnet.models", partitions, compacted: true };
  await fleet.log.createTopics([{ ...forModels, settings: { "max.message.bytes": "16777216" } }]);
  await fleet.log.append(models);
  fleet.start();
  return fleet;
}

const summary = async (fleet: Fleet) =>
  (await fleet.forecasts()).map(({ seriesId, origin, tier, method, modelVersion }) => [
    ...[seriesId, hourOf(origin), tier, method, modelVersion],
  ]);

describe("a series with a model", () => {
  test("is forecast by its model from the first origin with enough past, and the forecast is what the model computes", async (t) => {
    const model = randomModel({ key: "a", version: "v7" });
    const openEngine = () => openThreadedEngine({ setup: { kind: "reference" }, threads: 1 });
    const fleet = await fleetWith(t, [storedModel(model)], { openEngine });
    await fleet.play(...hourly("a", 0, wave(8)), "settle");
    assert.deepEqual((await summary(fleet)).slice(3), [
      ["a", 4, "COLD", "persistence", "persistence-1"],
      ["a", 5, "MODEL", "forecastnet", "v7"],
      ["a", 6, "MODEL", "forecastnet", "v7"],
      ["a", 7, "MODEL", "forecastnet", "v7"],
    ]);
    const window = Float64Array.from(wave(8).slice(2));
    const options = { paths: 16, levels };
    const [answer] = forecastModels(createReferenceExecutor(), [{ model, window }], options);
    const { mean, standardDeviation, quantiles } = answer as EngineForecast;
    const last = (await fleet.forecasts()).at(-1);
    assert.deepEqual(last?.mean, [...mean]);
    assert.deepEqual(last?.standardDeviation, [...standardDeviation]);
    assert.deepEqual(
      last?.quantiles.map(({ level, values }) => [level, values]),
      levels.map((level, l) => [level, [...quantiles[l]]]),
    );
    assert.deepEqual([last?.id, last?.modelKey], [`a@${last?.origin}/v7`, "a"]);
  });

  test("gets a window as long as its model needs", async (t) => {
    const model = randomModel({ key: "a", spec: { inputLength: 11 } });
    const fleet = await fleetWith(t, [storedModel(model)]);
    await fleet.play(...hourly("a", 0, wave(12)), ...hourly("b", 0, wave(12)), "settle");
    const served = (await summary(fleet)).filter(([, , tier]) => tier === "MODEL");
    assert.deepEqual(
      served.map(([seriesId, hour]) => [seriesId, hour]),
      [
        ["a", 10],
        ["a", 11],
      ],
    );
  });

  test("is cold again after a gap too long to fill, until it has enough past", async (t) => {
    const fleet = await fleetWith(t, [storedModel(randomModel())], {
      settings: { ...settings, "series.gapMax": 2 },
    });
    await fleet.play(...hourly("a", 0, wave(7)), ...hourly("a", 12, wave(7)), "settle");
    const byModel = (await summary(fleet)).filter(([, , tier]) => tier === "MODEL").map(([, hour]) => hour);
    assert.deepEqual(byModel, [5, 6, 17, 18]);
  });

  test("is cold after its model was deleted", async (t) => {
    const gone = { ...storedModel(randomModel()), value: null };
    const fleet = await fleetWith(t, [storedModel(randomModel()), gone]);
    await fleet.play(...hourly("a", 0, wave(8)), "settle");
    assert.ok((await summary(fleet)).every(([, , tier]) => tier === "COLD"));
  });
});

test("a damaged model costs only its own series the model, and is counted and logged", async (t) => {
  const damaged = storedModel(randomModel({ key: "b" }));
  damaged.value?.writeUInt8(255, 500);
  const models = [
    storedModel(randomModel({ key: "a" })),
    damaged,
    storedModel(randomModel({ key: "c", horizon: 5 })),
  ];
  const fleet = await fleetWith(t, models);
  await fleet.play(...["a", "b", "c"].flatMap((id) => hourly(id, 0, wave(6))), "settle");
  const last = (await summary(fleet)).filter(([, hour]) => hour === 5);
  assert.deepEqual(
    last.map(([seriesId, , tier]) => [seriesId, tier]),
    [
      ["a", "MODEL"],
      ["b", "COLD"],
      ["c", "COLD"],
    ],
  );
  const { body } = await fleet.page("/metrics");
  assert.match(body, /^forecastnet_models_refused_total\{reason="unreadable"\} 1$/m);
  assert.match(body, /^forecastnet_models_refused_total\{reason="horizon"\} 1$/m);
  assert.match(body, /^forecastnet_models 1$/m);
  const told = fleet.logged.filter(({ message }) => message === "models cannot serve");
  assert.deepEqual(
    told.map(({ level, facts }) => [level, facts.reason, facts.models, facts.modelKey]),
    [
      ["warn", "unreadable", 1, "b"],
      ["warn", "horizon", 1, "c"],
    ],
  );
});

describe("forecasts of models", () => {
  const models = ["a", "b"].map((key, i) => storedModel(randomModel({ key, seed: i }), i));
  const readings = Array.from({ length: 24 }, (_, i) =>
    hourly(i % 2 === 0 ? "a" : "b", Math.floor(i / 2), [wave(24)[i]]),
  ).flat();

  async function bytesAfter(...script: readonly Step[]): Promise<readonly string[]> {
    const fleet = await fleetWith(null, models, { partitions: 2 });
    try {
      await fleet.play(...script, "settle");
      return (await fleet.read("forecasts")).map(({ key, value }) => `${key} ${value?.toString("hex")}`);
    } finally {
      await fleet.close();
    }
  }

  for (const fault of [
    "restart",
    "crash",
    "zombie",
    "rebalance",
    "fenced before",
    "commit lost after",
  ] as const) {
    test(`have the same bytes, each once, after: ${fault}`, async () => {
      const quiet = await bytesAfter(...readings);
      assert.equal(quiet.length, 22);
      const first = readings.slice(0, 15);
      assert.deepEqual(await bytesAfter(...first, "pause", fault, ...readings.slice(15)), quiet);
    });
  }
});

describe("an engine", () => {
  test("is described on the worker's page and in the metrics", async (t) => {
    const fleet = await fleetWith(t, [storedModel(randomModel())], {
      openEngine: () => openThreadedEngine({ setup: { kind: "reference" }, threads: 1 }),
    });
    await fleet.play(...hourly("a", 0, wave(8)), "settle");
    const { engine, models } = JSON.parse((await fleet.page("/")).body);
    assert.deepEqual(
      [engine.name, engine.device, engine.residentModels, engine.trouble, models],
      ["reference", "cpu", 1, null, 1],
    );
    const { body } = await fleet.page("/metrics");
    assert.match(body, /^forecastnet_engine_info\{name="reference",device="cpu"\} 1$/m);
    assert.match(body, /^forecastnet_engine_resident_models 1$/m);
    assert.match(body, /^forecastnet_engine_batch_forecasts_sum 3$/m);
  });

  test("that breaks ends the worker, and the next worker makes the remaining forecasts by the model", async (t) => {
    let isBroken = true;
    const openEngine = async (): Promise<Engine> => {
      const engine = await openInProcess();
      const broken = new ForecastnetError("ENGINE_FAILED", "a thread of the engine ended: no memory");
      return isBroken ? { ...engine, forecast: () => Promise.reject(broken) } : engine;
    };
    const fleet = await fleetWith(t, [storedModel(randomModel())], { openEngine });
    await fleet.play(...hourly("a", 0, wave(8)));
    await assert.rejects(fleet.worker.done, { code: "ENGINE_FAILED" });
    isBroken = false;
    await fleet.play("crash", "settle");
    assert.deepEqual(
      (await summary(fleet)).map(([, hour, tier]) => `${hour} ${tier}`),
      ["1 COLD", "2 COLD", "3 COLD", "4 COLD", "5 MODEL", "6 MODEL", "7 MODEL"],
    );
  });

  test("in trouble makes the worker neither ready nor healthy", async (t) => {
    const trouble = "a thread of the engine ended: no memory";
    const openEngine = async (): Promise<Engine> => {
      const engine = await openInProcess();
      return { ...engine, status: () => ({ ...engine.status(), trouble }) };
    };
    const fleet = await fleetWith(t, [], { openEngine });
    await fleet.play("settle");
    assert.deepEqual(await fleet.page("/readyz"), { status: 503, body: `${trouble}\n` });
    assert.deepEqual(await fleet.page("/healthz"), { status: 503, body: `${trouble}\n` });
  });

  test("is closed when the worker has stopped", async (t) => {
    let closed = 0;
    const openEngine = async (): Promise<Engine> => {
      const engine = await openInProcess();
      return { ...engine, close: async () => void closed++ };
    };
    const fleet = await fleetWith(t, [], { openEngine });
    await fleet.play("settle", "restart");
    assert.equal(closed, 1);
  });

  test("that cannot be opened ends the worker before it joins", async (t) => {
    const missing = new ForecastnetError("ENGINE_FAILED", "no kernel");
    const fleet = await fleetWith(t, [], { openEngine: () => Promise.reject(missing) });
    await assert.rejects(fleet.worker.done, missing);
    assert.equal(fleet.connection.hasJoined, false);
  });
});
