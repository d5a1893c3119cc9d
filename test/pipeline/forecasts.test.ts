// What a subscriber receives: when a series gets a forecast, by which method, and what the message says about its quality.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Fleet } from "./support/fleet.ts";
import { at, DAWN_MS, HOUR_MS, hourly, hourOf } from "./support/readings.ts";

const ramp = (length: number) => Array.from({ length }, (_, i) => i);
const originsOf = async (fleet: Fleet) => (await fleet.forecasts()).map(({ origin }) => hourOf(origin));

describe("a young series", () => {
  test("gets no forecast after one point, persistence before two seasons, and seasonal-naive from then on", async (t) => {
    const fleet = Fleet.openFor(t, { settings: { "series.season": 3 } });
    await fleet.play(...hourly("a", 0, [10, 20, 30, 11, 21, 31, 12]), "settle");
    const forecasts = await fleet.forecasts();
    assert.deepEqual(
      forecasts.map(({ origin, method, freshSteps }) => [hourOf(origin), method, freshSteps]),
      [
        [1, "persistence", 2],
        [2, "persistence", 3],
        [3, "persistence", 4],
        [4, "persistence", 5],
        [5, "seasonal-naive", 6],
        [6, "seasonal-naive", 7],
      ],
    );
    assert.deepEqual(forecasts[0].mean, [20, 20, 20]);
    assert.deepEqual(forecasts[5].mean, [21, 31, 12]);
  });

  test("gets forecasts that carry everything a subscriber needs to judge them", async (t) => {
    const fleet = Fleet.openFor(t, { settings: { "output.levels": [0.1, 0.5, 0.9] } });
    await fleet.play(at("a", 0, 1), at("a", 1, 3), "settle");
    const [{ mean, standardDeviation, quantiles, ...facts }, ...others] = await fleet.forecasts();
    assert.deepEqual(others, []);
    assert.deepEqual(
      { ...facts },
      {
        id: `a@${DAWN_MS + HOUR_MS}/persistence-1`,
        seriesId: "a",
        origin: DAWN_MS + HOUR_MS,
        interval: "PT1H",
        horizon: 3,
        channels: 1,
        times: [2, 3, 4].map((hour) => DAWN_MS + hour * HOUR_MS),
        tier: "COLD",
        method: "persistence",
        modelKey: "a",
        modelVersion: "persistence-1",
        filledShare: 0,
        freshSteps: 2,
        skippedOrigins: 0,
        calibration: null,
        scores: null,
      },
    );
    assert.deepEqual(mean, [3, 3, 3]);
    assert.ok(standardDeviation.every((deviation) => deviation > 0));
    assert.deepEqual(
      quantiles.map(({ level }) => level),
      [0.1, 0.5, 0.9],
    );
  });
});

test("a series with every: 3 gets a forecast at each third completed step, even across a crash", async (t) => {
  const fleet = Fleet.openFor(t, { settings: { "series.every": 3 } });
  await fleet.play(...hourly("a", 0, ramp(6)), "settle", "crash", ...hourly("a", 6, ramp(6)), "settle");
  assert.deepEqual(await originsOf(fleet), [1, 4, 7, 10]);
});

describe("a worker far behind", () => {
  const settings = { "pipeline.behindAfterMs": 60_000, "pipeline.maxBatchRecords": 100 };

  test("forecasts only the newest origin of each series, says how many it skipped, and then goes on as usual", async (t) => {
    const fleet = Fleet.emptyFor(t, { settings });
    await fleet.play(...hourly("a", 0, ramp(10)), ...hourly("b", 0, ramp(3)), { laterMs: 60_001 });
    fleet.start();
    await fleet.play("settle", ...hourly("a", 10, ramp(2)), "settle");
    assert.deepEqual(
      (await fleet.forecasts()).map(({ seriesId, origin, skippedOrigins, freshSteps }) => ({
        ...{ seriesId, hour: hourOf(origin), skippedOrigins, freshSteps },
      })),
      [
        { seriesId: "a", hour: 9, skippedOrigins: 8, freshSteps: 10 },
        { seriesId: "b", hour: 2, skippedOrigins: 1, freshSteps: 3 },
        { seriesId: "a", hour: 10, skippedOrigins: 0, freshSteps: 11 },
        { seriesId: "a", hour: 11, skippedOrigins: 0, freshSteps: 12 },
      ],
    );
    assert.match((await fleet.page("/metrics")).body, /^forecastnet_skipped_origins_total 9$/m);
  });

  test("is not behind at exactly the limit", async (t) => {
    const fleet = Fleet.emptyFor(t, { settings });
    await fleet.play(...hourly("a", 0, ramp(4)), { laterMs: 60_000 });
    fleet.start();
    await fleet.play("settle");
    assert.deepEqual(await originsOf(fleet), [1, 2, 3]);
  });
});

describe("a gap", () => {
  const settings = { "series.gapPolicy": "linear", "series.gapMax": 2 };

  test("short enough to be filled is filled, and the forecast states the filled share", async (t) => {
    const fleet = Fleet.openFor(t, { settings });
    await fleet.play(at("a", 0, 0), at("a", 1, 1), at("a", 4, 4), "settle");
    const last = (await fleet.forecasts()).at(-1);
    assert.deepEqual([last?.filledShare, last?.freshSteps], [2 / 5, 5]);
  });

  test("too long to be filled restarts the series, and the forecasts say so", async (t) => {
    const fleet = Fleet.openFor(t, { settings });
    await fleet.play(...hourly("a", 0, ramp(9)), ...hourly("a", 12, ramp(3)), "settle");
    const forecasts = await fleet.forecasts();
    assert.deepEqual(
      forecasts
        .filter(({ origin }) => hourOf(origin) >= 8)
        .map(({ origin, method, freshSteps, filledShare }) => [
          ...[hourOf(origin), method, freshSteps, filledShare],
        ]),
      [
        [8, "seasonal-naive", 9, 0],
        [13, "persistence", 2, 0],
        [14, "persistence", 3, 0],
      ],
    );
  });
});

test("a forecast in the JSON format has the same fields", async (t) => {
  const fleet = Fleet.openFor(t, { settings: { "output.format": "json" } });
  await fleet.play(at("a", 0, 1), at("a", 1, 2), "settle");
  const [record] = await fleet.read("forecasts");
  const forecast = JSON.parse(String(record.value));
  assert.deepEqual([forecast.seriesId, forecast.origin], ["a", "2024-01-01T01:00:00.000Z"]);
  assert.equal(String(record.key), "a");
});
