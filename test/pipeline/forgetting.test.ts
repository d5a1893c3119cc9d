// Silent series are forgotten once and completely, whatever happens to the workers meanwhile.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { Outgoing } from "../../src/domain.ts";
import { createInProcessEngine } from "../../src/engine/in-process-engine.ts";
import { createReferenceExecutor } from "../../src/engine/reference/reference-executor.ts";
import { orderKey, outcomeKey } from "../../src/log/codec/model-keys.ts";
import type { Engine } from "../../src/models/forecastnet/engine.ts";
import { storedModel } from "../rig/model-record.ts";
import { randomModel } from "../rig/random-model.ts";
import { Fleet, type Word } from "./support/fleet.ts";
import {
  forgottenLines,
  keysOn,
  openFleet,
  ramp,
  settings,
  stateOf,
  untilForgotten,
} from "./support/forgetting.ts";
import { HOUR_MS, hourly } from "./support/readings.ts";
import { eventsOf } from "./support/retraining.ts";
import { turns, until } from "./support/turns.ts";

const DAY_MS = 24 * HOUR_MS;

describe("a silent series", () => {
  test("is forgotten after the configured time with every key of its state, and other series stay", async (t) => {
    const fleet = await openFleet(t);
    const before = await stateOf(fleet, "a");
    const pending = Array.from({ length: 15 }, (_, row) => `a#f${row}`);
    assert.deepEqual(before, ["a#0", "a#1", ...pending.sort(), "a#live"]);
    await fleet.play({ laterMs: DAY_MS / 2 }, ...hourly("b", 80, [1]), "settle", "turn");
    assert.deepEqual(forgottenLines(fleet), []);
    await fleet.play({ laterMs: DAY_MS / 2 }, "turn");
    await untilForgotten(fleet, "a");
    assert.deepEqual(await stateOf(fleet, "a"), []);
    assert.equal((await stateOf(fleet, "b")).length, before.length);
    assert.deepEqual(
      forgottenLines(fleet).map(({ facts }) => facts),
      [{ partition: 0, series: 1, seriesIds: ["a"] }],
    );
    const { body } = await fleet.page("/metrics");
    assert.match(body, /^forecastnet_series_forgotten_total\{reason="silent"\} 1$/m);
    assert.match(body, /^forecastnet_series 1$/m);
  });

  test("is forgotten in a partition without any input", async (t) => {
    const fleet = await openFleet(t, { partitions: 2 });
    await fleet.play({ laterMs: DAY_MS }, "turn");
    await untilForgotten(fleet, "a");
    await untilForgotten(fleet, "b");
    assert.deepEqual(await keysOn(fleet, "forecastnet.state"), []);
  });

  test("stays forgotten after a restart, and starts as a new series when it sends again", async (t) => {
    const fleet = await openFleet(t);
    await fleet.play({ laterMs: DAY_MS }, "turn");
    await untilForgotten(fleet, "a");
    const before = (await fleet.forecasts()).length;
    await fleet.play("restart", ...hourly("a", 200, ramp(3)), "settle");
    const anew = (await fleet.forecasts()).slice(before);
    assert.deepEqual(
      anew.map(({ freshSteps, scores }) => [freshSteps, scores?.scoredSteps ?? 0]),
      [
        [2, 0],
        [3, 1],
      ],
    );
    assert.deepEqual(await stateOf(fleet, "a"), ["a#1", "a#f3", "a#f4", "a#live"]);
  });

  test("that sends before it is forgotten keeps its past", async (t) => {
    const fleet = await openFleet(t);
    const before = await stateOf(fleet, "a");
    await fleet.play({ laterMs: DAY_MS }, "turn", ...hourly("a", 80, [1]), "settle");
    await untilForgotten(fleet, "b");
    assert.deepEqual(await stateOf(fleet, "a"), before);
    assert.deepEqual(await eventsOf(fleet, "a"), []);
  });

  test("stays silent across a change of owner: the time already passed counts", async (t) => {
    const fleet = await openFleet(t);
    await fleet.play({ laterMs: 0.75 * DAY_MS }, "turn", "crash", "settle", "turn", "turn", "turn");
    assert.deepEqual(forgottenLines(fleet), []);
    await fleet.play({ laterMs: 0.25 * DAY_MS }, "turn");
    await untilForgotten(fleet, "a");
  });

  test("leaves no key behind, not even of a longer history configured earlier", async (t) => {
    const fleet = Fleet.openFor(t, { settings: { ...settings, "series.history": 640 } });
    await fleet.play(...hourly("a", 0, ramp(700)), "settle");
    const many = (await stateOf(fleet, "a")).length;
    await fleet.play("settle");
    fleet.start({ "series.history": 64 });
    await fleet.play("leave", "settle", "turn", "turn");
    assert.ok((await stateOf(fleet, "a")).length >= many, "the old keys are still there");
    await fleet.play({ laterMs: DAY_MS }, "turn");
    await untilForgotten(fleet, "a");
    assert.deepEqual(await stateOf(fleet, "a"), []);
  });

  test("is not forgotten while its own input waits to be read", async (t) => {
    const fleet = await openFleet(t, { settings: { ...settings, "pipeline.maxBatchRecords": 1 } });
    fleet.worker.stop("the test says so");
    await fleet.worker.done;
    await fleet.play(...hourly("b", 80, ramp(20)), ...hourly("a", 80, [1]), { laterMs: 3 * DAY_MS }, "crash");
    const release = fleet.connection.hold("commit");
    await until(() => fleet.connection.takenBatches > 0, "the next worker to read");
    await fleet.play("turn", "turn", "turn");
    release();
    await fleet.play("settle", "turn", { laterMs: 1_000 });
    await turns(50);
    assert.deepEqual(forgottenLines(fleet), []);
    const [last] = (await fleet.forecasts()).filter(({ seriesId }) => seriesId === "a").slice(-1);
    assert.ok(last.freshSteps > 60, `a has its past: ${last.freshSteps}`);
  });

  test("with an interval longer than the configured time is kept for two steps", async (t) => {
    const fleet = await openFleet(t, { settings: { "series.forgetAfter": "PT30M" } });
    await fleet.play({ laterMs: 1.5 * HOUR_MS }, "turn");
    assert.deepEqual(forgottenLines(fleet), []);
    await fleet.play({ laterMs: HOUR_MS }, "turn");
    await untilForgotten(fleet, "a");
  });

  test("is kept forever by default, and where an override says so", async (t) => {
    const overrides = { "series.overrides": [{ match: "b", forgetAfter: "never" }] };
    const fleet = await openFleet(t, { settings: { ...settings, ...overrides } });
    const usual = await openFleet(t, { settings: {} });
    await fleet.play({ laterMs: 400 * DAY_MS }, "turn");
    await usual.play({ laterMs: 400 * DAY_MS }, "turn");
    await untilForgotten(fleet, "a");
    assert.notDeepEqual(await stateOf(fleet, "b"), []);
    assert.deepEqual(forgottenLines(usual), []);
  });
});

describe("a series is forgotten once", () => {
  const faults: readonly Word[][] = [
    ["commit lost before"],
    ["commit lost after"],
    ["fenced before"],
    ["fenced after"],
  ];
  for (const fault of faults) {
    test(`although its commit meets this fault: ${fault.join(", ")}`, async (t) => {
      const fleet = await openFleet(t);
      await fleet.play({ laterMs: DAY_MS }, ...fault, "turn");
      await fleet.until(() => forgottenLines(fleet).length > 0, "the sweep");
      // After a fence the next lane sweeps again.
      for (const id of ["a", "b"]) await untilForgotten(fleet, id, () => fleet.play("turn", "pause"));
      assert.deepEqual(await keysOn(fleet, "forecastnet.state"), []);
      const before = (await fleet.forecasts()).length;
      await fleet.play(...hourly("a", 200, ramp(2)), "crash", ...hourly("a", 202, [1]), "settle");
      const fresh = (await fleet.forecasts()).slice(before).map(({ freshSteps }) => freshSteps);
      assert.deepEqual(fresh, [2, 3]);
    });
  }

  test("although its worker crashes before the commit", async (t) => {
    const fleet = await openFleet(t);
    const release = fleet.connection.hold("commit");
    await fleet.play({ laterMs: DAY_MS }, "turn");
    await fleet.until(() => forgottenLines(fleet).length > 0, "the sweep");
    await fleet.play("crash");
    release();
    await fleet.play("settle");
    assert.notDeepEqual(await stateOf(fleet, "a"), [], "nothing was committed");
    await fleet.play("turn", "turn");
    await untilForgotten(fleet, "a");
    assert.equal((await eventsOf(fleet, "a")).length, 1);
    assert.deepEqual(await keysOn(fleet, "forecastnet.state"), []);
  });
});

describe("the model of a forgotten series", () => {
  const modelSettings = { "output.levels": [0.1, 0.5, 0.9], "engine.paths": 16 };
  const models = "forecastnet.models";

  async function fleetWithModels(t: TestContext, stored: readonly Outgoing[], more: object = {}) {
    const released: string[] = [];
    const openEngine = async (): Promise<Engine> => {
      const description = { name: "reference", device: "cpu", threads: 1, detail: "no threads" } as const;
      const engine = createInProcessEngine(createReferenceExecutor(), description);
      return { ...engine, release: (model) => void released.push(`${model.key}@${model.version}`) };
    };
    const fleet = Fleet.emptyFor(t, { settings: { ...settings, ...modelSettings, ...more }, openEngine });
    const spec = { topic: models, partitions: 1, compacted: true };
    await fleet.log.createTopics([{ ...spec, settings: { "max.message.bytes": "16777216" } }]);
    await fleet.log.append(stored);
    fleet.start();
    await fleet.play(...hourly("a", 0, ramp(20)), "settle", "turn", "turn");
    return { fleet, released };
  }

  test("is deleted from the topic and released by the engine, and orders and outcomes with it", async (t) => {
    const { fleet, released } = await fleetWithModels(t, [
      storedModel(randomModel({ key: "a", version: "v7" })),
    ]);
    const unreadable = (key: string) => ({
      topic: models,
      partition: 0,
      key: Buffer.from(key),
      value: Buffer.from("?"),
    });
    assert.deepEqual(await keysOn(fleet, models), ["a"]);
    await fleet.play({ laterMs: DAY_MS }, "turn");
    await untilForgotten(fleet, "a");
    assert.deepEqual(await keysOn(fleet, models), []);
    assert.deepEqual(released, ["a@v7"]);
    const [event] = await eventsOf(fleet, "a");
    assert.deepEqual([event.kind, event.fromVersion, event.toVersion], ["FORGOTTEN", "v7", null]);
    // An outcome and an order that arrive later are dismissed.
    await fleet.log.append([unreadable(outcomeKey("a")), unreadable(orderKey("a"))]);
    await fleet.play("restart", ...hourly("a", 200, ramp(8)), "settle");
    const last = (await fleet.forecasts()).at(-1);
    assert.deepEqual([last?.tier, last?.freshSteps], ["COLD", 8]);
    assert.deepEqual(await keysOn(fleet, models), []);
  });

  test("stays if it is a cohort's", async (t) => {
    const { fleet, released } = await fleetWithModels(
      t,
      [storedModel(randomModel({ key: "cohort:pumps", version: "v1" }))],
      { "series.cohort": "pumps" },
    );
    assert.equal((await fleet.forecasts()).at(-1)?.tier, "COHORT");
    await fleet.play({ laterMs: DAY_MS }, "turn");
    await untilForgotten(fleet, "a");
    assert.deepEqual(await keysOn(fleet, models), ["cohort:pumps"]);
    assert.deepEqual(released, []);
  });
});
