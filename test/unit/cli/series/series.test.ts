// The series command on hand-written records: odd ones, damaged ones, and workers that do not answer.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { readCommandLine } from "../../../../src/cli/command.ts";
import { runSeries, seriesCommand } from "../../../../src/cli/series/series.ts";
import { avroCodec } from "../../../../src/log/codec/avro.ts";
import { loadConfig } from "../../../../src/runtime/config/load.ts";
import { seriesRules } from "../../../../src/runtime/config/series-rules.ts";
import { SeriesStore } from "../../../../src/window/series-store.ts";
import { blockKey } from "../../../../src/window/state-blocks.ts";
import { ModelsFixture, nowMs, topics } from "../models/models-fixture.ts";

const HOUR = 3_600_000;
const blockCodec = avroCodec("StateBlock");
const argv = [
  "--series.interval=PT1H",
  "--series.horizon=16",
  "--series.history=64",
  "--series.cohort=pumps",
];
const settingsOf = seriesRules(loadConfig({ argv, env: {} }).series);

async function run(fixture: ModelsFixture, ...line: readonly string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await runSeries(readCommandLine(seriesCommand, line), {
    log: fixture.log,
    topics,
    settingsOf,
    clock: { nowMs: () => nowMs },
    signal: new AbortController().signal,
    io: { out: (text) => out.push(text), err: (text) => err.push(text) },
  });
  return { code, out: out.join("\n"), err: err.join("\n") };
}

/** Stores the blocks of a series with one reading at each hour before now. */
async function putBlocks(
  fixture: ModelsFixture,
  partition: number,
  seriesId: string,
  hours: readonly number[],
) {
  const store = new SeriesStore(settingsOf);
  for (const hour of hours)
    store.of(seriesId).push({ seriesId, timeMs: nowMs - (nowMs % HOUR) - hour * HOUR, values: [hour] });
  for (const block of store.takeChanges())
    await fixture.put(topics.state, partition, blockKey(block), blockCodec.encode(block));
}

async function open(t: TestContext): Promise<ModelsFixture> {
  const fixture = await ModelsFixture.open(t);
  await putBlocks(fixture, 1, "pump-1", [4, 3, 1]);
  await putBlocks(fixture, 2, "pump-2", [2]);
  return fixture;
}

const linesOf = (text: string) => text.split("\n").map((line) => line.replace(/ +/g, " "));

describe("series list", () => {
  test("prints one line per series, sorted by id, with its points and its tier", async (t) => {
    const fixture = await open(t);
    await fixture.putModel(1, { key: "pump-1" });
    await fixture.putModel(2, { key: "cohort:pumps" });
    assert.deepEqual(linesOf((await run(fixture, "list")).out), [
      "SERIES PARTITION LAST POINTS PHASE TIER",
      "pump-1 1 2026-01-02 02:00:00Z 3 champion model",
      "pump-2 2 2026-01-02 01:00:00Z 1 cold cohort",
    ]);
  });

  test("applies pattern and limit, and prints how many rows are left out", async (t) => {
    const fixture = await open(t);
    await putBlocks(fixture, 0, "fan-1", [1]);
    assert.deepEqual(linesOf((await run(fixture, "list", "--limit", "1")).out).slice(1), [
      "fan-1 0 2026-01-02 02:00:00Z 1 cold cold",
      "and 2 more",
    ]);
    assert.equal(linesOf((await run(fixture, "list", "--match", "pump-*")).out).length, 3);
    assert.equal((await run(fixture, "list", "--match", "x*")).out, "no such series");
    const [row, ...more] = JSON.parse((await run(fixture, "list", "--match=fan-?", "--json")).out);
    assert.deepEqual(
      [row.seriesId, row.lastTime, row.tier, more],
      ["fan-1", "2026-01-02T02:00:00.000Z", "cold", []],
    );
  });

  test("leaves out forgotten series, and counts only what a series sent after it was forgotten", async (t) => {
    const fixture = await open(t);
    for (const [partition, id] of [
      [1, "pump-1"],
      [2, "pump-2"],
    ] as const) {
      for (const place of ["0", "1", "live", "f0"])
        await fixture.put(topics.state, partition, `${id}#${place}`, null);
    }
    await putBlocks(fixture, 2, "pump-2", [1]);
    assert.deepEqual(linesOf((await run(fixture, "list")).out).slice(1), [
      "pump-2 2 2026-01-02 02:00:00Z 1 cold cold",
    ]);
  });

  test("does not count blocks that have left the ring", async (t) => {
    const fixture = await ModelsFixture.open(t);
    await putBlocks(fixture, 0, "a", [200, 199, 1]);
    assert.match((await run(fixture, "list")).out, / 1 +cold/);
  });
});

describe("series show", () => {
  test("shows each partition that holds the series, and the record that cannot be read", async (t) => {
    const fixture = await open(t);
    await putBlocks(fixture, 0, "pump-2", [30]);
    await fixture.put(topics.state, 2, "pump-2#live", Buffer.from("?"));
    const { out, code } = await run(fixture, "show", "pump-2");
    assert.equal(code, 0);
    assert.deepEqual(out.match(/^pump-2, partition \d$/gm), ["pump-2, partition 0", "pump-2, partition 2"]);
    assert.match(out, /^ {2}cannot be read +live state: /m);
    assert.match(out, /^ {2}forgotten after +never$/m);
  });

  test("shows the seasons and bounds that were found", async (t) => {
    const fixture = await open(t);
    const store = new SeriesStore(settingsOf);
    const timeMs = nowMs - (nowMs % HOUR);
    store.of("fan").push({ seriesId: "fan", timeMs, values: [0] });
    const [block] = store.takeChanges();
    const found = { seasons: [8, 24], naiveSeason: 24, decidedAt: 72, isNonNegative: true };
    await fixture.put(topics.state, 0, "fan#0", blockCodec.encode({ ...block, ...found }));
    const { out } = await run(fixture, "show", "fan");
    assert.match(out, /^ {2}season +8 steps; seasonal-naive repeats 24 \(found: 8, 24\)$/m);
    assert.match(out, /^ {2}bounds +at least 0$/m);
    const [json] = JSON.parse((await run(fixture, "show", "fan", "--json")).out);
    assert.deepEqual([json.season, json.naiveSeason, json.min, json.max], [8, 24, 0, null]);
    const { out: young } = await run(fixture, "show", "pump-2");
    assert.match(young, /^ {2}season +24 steps$/m);
    assert.match(young, /^ {2}bounds +none$/m);
  });

  test("suggests similar names for an unknown series", async (t) => {
    const { code, err } = await run(await open(t), "show", "pump1");
    assert.deepEqual([code, err], [1, "no series pump1 is known: did you mean pump-1 or pump-2?"]);
  });
});

describe("series forget", () => {
  test("sends an order to every partition that holds the series, and reports that no worker answered", async (t) => {
    const fixture = await open(t);
    await putBlocks(fixture, 0, "pump-2", [30]);
    const { code, out, err } = await run(fixture, "forget", "pump-2", "--timeout", "0.05");
    assert.deepEqual([code, out], [1, "asked to forget pump-2, waiting up to 0.05 s"]);
    assert.match(err, /^0 of 2 are forgotten: /);
    const orders: string[] = [];
    for await (const { partition, records } of fixture.log.read(topics.models, new AbortController().signal))
      for (const { key } of records) orders.push(`${partition} ${key}`);
    assert.deepEqual(orders.sort(), ["0 pump-2\u0000order", "2 pump-2\u0000order"]);
  });

  test("with --no-wait returns once the orders are sent", async (t) => {
    const { code, out } = await run(await open(t), "forget", "pump-*", "--yes", "--no-wait");
    assert.deepEqual([code, out], [0, "asked to forget 2 series"]);
  });

  test("refuses a pattern without a match and an unknown series", async (t) => {
    const fixture = await open(t);
    assert.equal((await run(fixture, "forget", "x*")).err, "no series matches x*");
    assert.match((await run(fixture, "forget", "fan")).err, /^no series fan is known/);
  });

  test("prefers a series whose id is the pattern itself", async (t) => {
    const fixture = await open(t);
    await putBlocks(fixture, 0, "pump-*", [1]);
    const { out } = await run(fixture, "forget", "pump-*", "--no-wait");
    assert.equal(out, "asked to forget pump-*");
  });
});
