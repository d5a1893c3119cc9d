// Operators forget series: by an order on the models topic, over HTTP, and with the command.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { readCommandLine } from "../../src/cli/command.ts";
import { runSeries, seriesCommand } from "../../src/cli/series/series.ts";
import type { Outgoing } from "../../src/domain.ts";
import { avroCodec } from "../../src/log/codec/avro.ts";
import { orderKey } from "../../src/log/codec/model-keys.ts";
import { loadConfig } from "../../src/runtime/config/load.ts";
import { seriesRules } from "../../src/runtime/config/series-rules.ts";
import type { Fleet } from "./support/fleet.ts";
import { forgottenLines, keysOn, openFleet, stateOf, untilForgotten } from "./support/forgetting.ts";
import { hourly } from "./support/readings.ts";
import { eventsOf } from "./support/retraining.ts";
import { turns } from "./support/turns.ts";

describe("an order to forget", () => {
  const orderCodec = avroCodec("ModelOrder");
  const orderFor = (modelKey: string): Outgoing => ({
    ...{ topic: "forecastnet.models", partition: 0, key: Buffer.from(orderKey(modelKey)) },
    value: orderCodec.encode({
      id: "o",
      modelKey,
      kind: "FORGET",
      record: null,
      skipsGate: false,
      askedAt: 0,
    }),
  });

  test("ends a series that still sends, and is then deleted itself", async (t) => {
    const fleet = await openFleet(t, { settings: {} });
    await fleet.log.append([orderFor("a")]);
    await untilForgotten(fleet, "a");
    assert.deepEqual(await stateOf(fleet, "a"), []);
    assert.notDeepEqual(await stateOf(fleet, "b"), []);
    assert.deepEqual(await keysOn(fleet, "forecastnet.models"), []);
    await fleet.play("restart", "settle", "turn");
    assert.equal((await eventsOf(fleet, "a")).length, 1);
  });

  test("is applied before the batch that the series sends in: that batch starts a new series", async (t) => {
    const fleet = await openFleet(t, { settings: {} });
    await fleet.log.append([orderFor("a")]);
    await turns(20); // The order is received, and waits for the next batch.
    assert.deepEqual(await eventsOf(fleet, "a"), []);
    await fleet.play(...hourly("a", 200, [5, 6, 7]), "settle");
    await untilForgotten(fleet, "a");
    assert.deepEqual(await stateOf(fleet, "a"), ["a#1", "a#f3", "a#f4", "a#live"]);
    await fleet.play("crash", ...hourly("a", 203, [1]), "settle");
    assert.equal((await fleet.forecasts()).at(-1)?.freshSteps, 4);
  });

  test("that was not committed is carried out by the next owner", async (t) => {
    const fleet = await openFleet(t, { settings: {} });
    const release = fleet.connection.hold("commit");
    await fleet.log.append([orderFor("a")]);
    await fleet.until(() => forgottenLines(fleet).length > 0, "the order to be applied");
    await fleet.play("crash", "settle");
    release();
    await untilForgotten(fleet, "a");
    assert.equal((await eventsOf(fleet, "a")).length, 1);
    assert.deepEqual(await stateOf(fleet, "a"), []);
  });

  test("is refused for a cohort", async (t) => {
    const fleet = await openFleet(t, { settings: { "series.cohort": "pumps" } });
    await fleet.log.append([orderFor("cohort:pumps")]);
    await fleet.until(() => fleet.logged.some(({ message }) => message === "model refused"), "the refusal");
    assert.deepEqual(forgottenLines(fleet), []);
  });
});

describe("over HTTP", () => {
  async function openWithToken(t: TestContext) {
    const folder = mkdtempSync(join(tmpdir(), "forgetting-"));
    t.after(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, "token"), "secret-7");
    const fleet = await openFleet(t, { settings: { "worker.tokenFile": join(folder, "token") } });
    const post = async (path: string, token: string) => {
      const headers = { authorization: `Bearer ${token}` };
      const address = `http://127.0.0.1:${fleet.worker.port}${path}`;
      return (await fetch(address, { method: "POST", headers })).status;
    };
    return { fleet, post };
  }

  test("a series is shown to everyone, and forgotten at the request of a token bearer", async (t) => {
    const { fleet, post } = await openWithToken(t);
    const shown = JSON.parse((await fleet.page("/series/a")).body);
    assert.deepEqual(
      [
        shown.seriesId,
        shown.partition,
        shown.interval,
        shown.points,
        shown.lastTime,
        shown.tier,
        shown.phase,
      ],
      ["a", 0, "PT1H", 80, "2024-01-04T07:00:00.000Z", "cold", "cold"],
    );
    assert.equal(shown.forgottenAt, null);
    assert.equal(await post("/series/a/forget", "guess"), 401);
    assert.equal(await post("/series/z/forget", "secret-7"), 404);
    assert.equal(await post("/series/a/forget", "secret-7"), 202);
    await untilForgotten(fleet, "a");
    assert.deepEqual(await stateOf(fleet, "a"), []);
    assert.equal((await fleet.page("/series/a")).status, 404);
  });

  test("series are listed by pattern, up to the given limit", async (t) => {
    const { fleet } = await openWithToken(t);
    const ids = async (query: string) => {
      const { series, isComplete } = JSON.parse((await fleet.page(`/series${query}`)).body);
      return [series.map(({ seriesId }: { seriesId: string }) => seriesId), isComplete];
    };
    assert.deepEqual(await ids(""), [["a", "b"], true]);
    assert.deepEqual(await ids("?limit=1"), [["a"], false]);
    assert.deepEqual(await ids("?match=b*"), [["b"], true]);
    assert.equal((await fleet.page("/series?limit=0")).status, 400);
    assert.equal((await fleet.page("/series?limit=99999")).status, 400);
    assert.equal((await fleet.page("/series?match=")).status, 400);
  });
});

describe("forecastnet series", () => {
  async function command(fleet: Fleet, ...argv: readonly string[]) {
    const told: string[] = [];
    const { series } = loadConfig({ argv: [], env: {} });
    const running = runSeries(readCommandLine(seriesCommand, argv), {
      ...{ log: fleet.log, clock: { nowMs: () => 0 }, signal: new AbortController().signal },
      topics: { models: "forecastnet.models", state: "forecastnet.state", events: "forecastnet.events" },
      settingsOf: seriesRules(series),
      io: { out: (line) => told.push(line), err: (line) => told.push(line) },
    });
    const code = await fleet.wait(running, `the command ${argv.join(" ")}`);
    return { code, told: told.join("\n") };
  }

  test("forgets a series by its id, and no longer lists it", async (t) => {
    const fleet = await openFleet(t, { settings: {} });
    assert.match((await command(fleet, "list")).told, /^a +0 +2024-01-04 07:00:00Z +80 +cold +cold$/m);
    const { code, told } = await command(fleet, "forget", "a");
    assert.deepEqual([code, told], [0, "asked to forget a, waiting up to 60 s\na forgotten"]);
    assert.deepEqual(await stateOf(fleet, "a"), []);
    assert.doesNotMatch((await command(fleet, "list")).told, /^a /m);
    await fleet.play(...hourly("a", 200, [1, 2]), "settle");
    assert.match((await command(fleet, "show", "a")).told, /^ {2}points +2$/m);
  });

  test("forgets all series that match a pattern, in all partitions, once confirmed", async (t) => {
    const fleet = await openFleet(t, { settings: {}, partitions: 2 });
    const refused = await command(fleet, "forget", "*");
    assert.equal(refused.code, 1);
    assert.equal(refused.told, "* matches 2 series (a, b): add --yes to forget all of them");
    const { code, told } = await command(fleet, "forget", "*", "--yes");
    assert.deepEqual([code, told.split("\n").at(-1)], [0, "2 series forgotten"]);
    assert.deepEqual(await keysOn(fleet, "forecastnet.state"), []);
  });
});
