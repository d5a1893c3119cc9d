// A record that makes its batch fail permanently: it alone becomes a dead letter, and all others are forecast as if it
// had never been written.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { fromDeadLetterHeaders } from "../../src/log/dead-letter.ts";
import { Fleet, type Step } from "./support/fleet.ts";
import { at, hourly, raw } from "./support/readings.ts";

/** A fleet whose forecasts of 64 channels are too large for their topic; those of one channel fit. */
async function openTight(t: TestContext, settings: Readonly<Record<string, unknown>> = {}): Promise<Fleet> {
  const fleet = Fleet.emptyFor(t, { settings });
  const tight = { topic: "forecasts", partitions: 1, compacted: false };
  await fleet.log.createTopics([{ ...tight, settings: { "max.message.bytes": "6000" } }]);
  fleet.start();
  return fleet;
}

async function lettersOf(fleet: Fleet) {
  const letters = await fleet.read("forecastnet.dead-letters");
  return letters.map(({ headers }) => fromDeadLetterHeaders(headers));
}

async function counted(fleet: Fleet, name: string): Promise<number> {
  const lines = (await fleet.page("/metrics")).body.split("\n");
  return Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length));
}

const wide = (hour: number) => at("b", hour, ...Array.from({ length: 64 }, (_, channel) => channel));
const good = Array.from({ length: 40 }, (_, n) => Math.sin(n));

/** The forecasts of "a" when there is no other series. */
async function undisturbed(t: TestContext) {
  const fleet = await openTight(t);
  await fleet.play(...hourly("a", 0, good), "settle");
  return fleet.forecasts();
}

describe("a record whose forecast is too large for its topic", () => {
  test("becomes a dead letter with the error, and the records around it are forecast as usual", async (t) => {
    const fleet = await openTight(t);
    const script: Step[] = hourly("a", 0, good);
    script.splice(20, 0, wide(0), wide(1)); // The second has a past, and so a forecast.
    await fleet.play(...script, "settle");
    const [letter, ...others] = await lettersOf(fleet);
    assert.deepEqual(others, []);
    assert.deepEqual([letter?.reason, letter?.offset], ["failed", 21]);
    assert.match(
      letter?.detail ?? "",
      /topic forecasts has \d+ bytes, more than its max\.message\.bytes of 6000/,
    );
    assert.deepEqual(await fleet.forecasts(), await undisturbed(t));
    assert.ok(fleet.worker.status().isReady);
    assert.equal(await counted(fleet, 'forecastnet_dead_letters_total{reason="failed"}'), 1);
    // The batch of forty-two, a piece of two, and the record alone.
    assert.equal(await counted(fleet, "forecastnet_failed_batches_total"), 3);
  });

  test("does not make other dead letters of its batch be counted twice", async (t) => {
    const fleet = await openTight(t);
    const script: Step[] = hourly("a", 0, good);
    script.splice(20, 0, raw("a", "?"), at("a", 19.5, 1, 2), wide(0), wide(1));
    await fleet.play(...script, "settle");
    const reasons = (await lettersOf(fleet)).map((letter) => letter?.reason).sort();
    assert.deepEqual(reasons, ["failed", "undecodable", "wrong-channels"]);
    for (const reason of reasons)
      assert.equal(await counted(fleet, `forecastnet_dead_letters_total{reason="${reason}"}`), 1, reason);
  });

  test("does not end the worker, even if all series are of this kind", async (t) => {
    const fleet = await openTight(t);
    const channels = Array.from({ length: 64 }, (_, channel) => channel);
    const script = [0, 1, 2, 3, 4].flatMap((hour) => [..."bcdefghi"].map((id) => at(id, hour, ...channels)));
    await fleet.play(...script, "settle", ...hourly("a", 0, good), "settle");
    assert.equal((await lettersOf(fleet)).length, 8 * 4);
    assert.deepEqual(await fleet.forecasts(), await undisturbed(t));
  });

  test("leaves no trace in the state, even for the next worker that restores it", async (t) => {
    const fleet = await openTight(t);
    await fleet.play(...hourly("a", 0, good.slice(0, 20)), wide(0), wide(1), "settle", "crash");
    await fleet.play(...hourly("a", 20, good.slice(20)), "settle");
    assert.deepEqual(await fleet.forecasts(), await undisturbed(t));
    assert.equal((await lettersOf(fleet)).length, 1);
  });

  test("does not prevent a worker from stopping", async (t) => {
    const fleet = await openTight(t);
    await fleet.play(wide(0), wide(1), "restart", ...hourly("a", 0, good), "settle");
    assert.deepEqual(await fleet.forecasts(), await undisturbed(t));
  });

  for (const maxBatchRecords of [1, 2, 7]) {
    test(`is found in batches of at most ${maxBatchRecords} while later batches are computed ahead`, async (t) => {
      const settings = { "pipeline.maxBatchRecords": maxBatchRecords, "pipeline.bufferedBatches": 4 };
      const fleet = await openTight(t, settings);
      const script: Step[] = hourly("a", 0, good);
      script.splice(30, 0, wide(0), wide(1));
      await fleet.play(...script, "settle");
      assert.deepEqual(
        (await lettersOf(fleet)).map((letter) => letter?.offset),
        [31],
      );
      assert.deepEqual(await fleet.forecasts(), await undisturbed(t));
    });
  }

  test("whose series keeps failing is set aside untried for an hour, and then tried again", async (t) => {
    const fleet = await openTight(t);
    const hours = Array.from({ length: 10 }, (_, hour) => wide(hour));
    await fleet.play(...hourly("a", 0, good), ...hours, "settle");
    const letters = await lettersOf(fleet);
    assert.deepEqual(
      letters.map((letter) => [letter?.reason, letter?.offset]),
      [41, 42, 43, 44, 45, 46, 47, 48, 49].map((offset) => ["failed", offset]),
    );
    const untried = letters.filter((letter) =>
      letter?.detail.startsWith("3 observations of the series failed"),
    );
    assert.equal(untried.length, 6);
    assert.deepEqual(await fleet.forecasts(), await undisturbed(t));
    const failed = () => counted(fleet, "forecastnet_failed_batches_total");
    const before = await failed();
    await fleet.play({ laterMs: 3_600_001 }, wide(20), "settle", wide(21), "settle");
    assert.equal(await failed(), before + 1, "the record with a past fails again");
  });
});

test("records whose state is too large for its topic become dead letters with the error, and the worker stays alive", async (t) => {
  const fleet = Fleet.emptyFor(t);
  // Room for the state of one channel, but not for that of 64.
  const tight = { topic: "forecastnet.state", partitions: 1, compacted: true };
  await fleet.log.createTopics([{ ...tight, settings: { "max.message.bytes": "5000" } }]);
  fleet.start();
  const channels = Array.from({ length: 64 }, (_, channel) => Math.sqrt(channel + 2));
  const script = Array.from({ length: 30 }, (_, n) => at(`b${n}`, 40, ...channels));
  await fleet.play(...script, "settle", ...hourly("a", 0, good), "settle");
  const details = (await lettersOf(fleet)).map((letter) => letter?.detail ?? "");
  assert.equal(details.length, 30);
  for (const detail of details)
    assert.match(detail, /topic forecastnet\.state .* max\.message\.bytes of 5000/);
  assert.equal((await fleet.forecasts()).length, good.length - 1);
  assert.ok(fleet.worker.status().isReady);
});
