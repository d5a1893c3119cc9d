// What happens to each kind of record: on time, late, duplicate, too late, unreadable, misplaced. None is dropped
// silently: each leads to a forecast, a count or a dead letter.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fromDeadLetterHeaders } from "../../src/log/dead-letter.ts";
import { Fleet } from "./support/fleet.ts";
import { at, avroAt, DAWN_MS, HOUR_MS, hourly, hourOf, raw } from "./support/readings.ts";

/** The non-zero counts of a metric, by label value. */
async function metric(fleet: Fleet, name: string): Promise<Record<string, number>> {
  const lines = (await fleet.page("/metrics")).body.split("\n").filter((line) => line.startsWith(name));
  const counts = lines.map((line) => [/="([^"]*)"/.exec(line)?.[1] ?? "", Number(line.split(" ").at(-1))]);
  return Object.fromEntries(counts.filter(([, count]) => count !== 0));
}

async function deadLetters(fleet: Fleet) {
  return (await fleet.read("forecastnet.dead-letters")).map((record) => ({
    ...{ key: String(record.key), value: String(record.value), headers: record.headers },
    letter: fromDeadLetterHeaders(record.headers),
  }));
}

describe("an observation", () => {
  test("that arrives late amends the past and changes the next forecast", async (t) => {
    const means: (readonly number[])[] = [];
    for (const late of [[], [at("a", 1, 100)]]) {
      const fleet = Fleet.openFor(t);
      await fleet.play(at("a", 0, 1), at("a", 2, 3), ...late, at("a", 3, 4), "settle");
      const last = (await fleet.forecasts()).at(-1);
      means.push(last?.standardDeviation ?? []);
      assert.equal(last?.filledShare, late.length === 0 ? 1 / 4 : 0);
    }
    assert.notDeepEqual(means[0], means[1]);
  });

  test("is counted once, by its outcome, even if a worker crashes in between", async (t) => {
    const fleet = Fleet.openFor(t);
    await fleet.play(...hourly("a", 0, [1, 2]), at("a", 4, 5), "settle", "crash");
    await fleet.play(at("a", 3, 4), at("a", 4, 5.5), at("a", -200, 0), at("a", 5, 1, 2), "settle");
    assert.deepEqual(await metric(fleet, "forecastnet_observations_total"), {
      advanced: 3,
      "late-amended": 1,
      duplicate: 1,
      "too-late": 1,
      "wrong-channels": 1,
    });
  });
});

describe("a dead letter", () => {
  test("carries the original record, its headers, its position and the reason", async (t) => {
    const fleet = Fleet.openFor(t);
    const trace = { key: "trace", value: Buffer.from("t-1") };
    await fleet.play(at("a", 0, 1), raw("a", "{not json", [trace]), "settle");
    const [{ key, value, headers, letter }, ...others] = await deadLetters(fleet);
    assert.deepEqual(others, []);
    assert.deepEqual([key, value, headers[0]], ["a", "{not json", trace]);
    const { detail = "", ...place } = letter ?? {};
    assert.deepEqual(place, {
      topic: "sensors",
      partition: 0,
      offset: 1,
      time: Date.UTC(2024, 5, 1),
      reason: "undecodable",
      truncated: "",
    });
    assert.match(detail, /not JSON/);
  });

  test("is written for every kind of record that cannot be used, and for no other", async (t) => {
    const fleet = Fleet.openFor(t, { settings: { "limits.futureToleranceMs": 1000 } });
    const nowHour = (Date.UTC(2024, 5, 1) - DAWN_MS) / HOUR_MS;
    await fleet.play(at("a", 0, 1), at("a", 1, 2, 3), at("b", nowHour + 1, 1), at("c", nowHour, 1));
    await fleet.play(raw("d", '{"time": 0, "value": 1}'), raw("d", '{"seriesId":"d","time":"x","value":1}'));
    await fleet.play(raw("d", '{"seriesId":"d","time":0,"value":"warm"}'), at("a", 1, 2), "settle");
    assert.deepEqual(
      (await deadLetters(fleet)).map(({ letter }) => [letter?.offset, letter?.reason]).sort(),
      [
        [1, "wrong-channels"],
        [2, "future-time"],
        [4, "missing-series"],
        [5, "bad-time"],
        [6, "bad-value"],
      ],
    );
    assert.deepEqual(await metric(fleet, "forecastnet_dead_letters_total"), {
      "wrong-channels": 1,
      "future-time": 1,
      "missing-series": 1,
      "bad-time": 1,
      "bad-value": 1,
    });
    assert.deepEqual(
      (await fleet.forecasts()).map(({ seriesId, origin }) => [seriesId, hourOf(origin)]),
      [["a", 1]],
    );
  });
});

test("input topics of different formats feed the same series", async (t) => {
  const inputs = ["sensors", "meters"];
  const formats = [
    { topic: "sensors", format: "json" },
    { topic: "meters", format: "avro" },
  ];
  const fleet = Fleet.openFor(t, { inputs, settings: { "topics.inputs": formats } });
  await fleet.play(at("a", 0, 1), "settle", avroAt("meters", "a", 1, 5), "settle", at("a", 2, 6), "settle");
  assert.deepEqual(
    (await fleet.forecasts()).map(({ origin, mean }) => [hourOf(origin), mean[0]]),
    [
      [1, 5],
      [2, 6],
    ],
  );
  await fleet.play(raw("a", "no avro"), { ...raw("a", "\u0003"), topic: "meters" }, "settle");
  assert.deepEqual((await deadLetters(fleet)).map(({ letter }) => letter?.topic).sort(), [
    "meters",
    "sensors",
  ]);
});

test("an automatic interval is found after enough points, survives a crash, is logged once and appears in the forecast", async (t) => {
  const fleet = Fleet.openFor(t, { settings: { "series.interval": "auto" } });
  const times = [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75];
  await fleet.play(...times.slice(0, 7).map((hour) => at("a", hour, hour)), "settle");
  assert.deepEqual(await fleet.forecasts(), []);
  await fleet.play("crash", at("a", 1.75, 1), "settle");
  const [{ interval, origin }, ...others] = await fleet.forecasts();
  assert.deepEqual([interval, hourOf(origin), others.length], ["PT15M", 1.75, 0]);
  const found = fleet.logged.filter(({ message }) => message === "interval found");
  assert.deepEqual(
    found.map(({ facts }) => facts),
    [{ seriesId: "a", interval: "PT15M", offsetMs: 0 }],
  );
  assert.deepEqual(await metric(fleet, "forecastnet_observations_total"), {
    "interval-pending": 7,
    "interval-found": 1,
  });
});
