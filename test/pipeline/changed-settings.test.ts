// The settings change between two runs of a worker, and the new run restores state that was stored under the old ones.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Fleet } from "./support/fleet.ts";
import { at, hourly, hourOf } from "./support/readings.ts";

const ramp = (length: number, from = 0) => Array.from({ length }, (_, i) => from + i);

/** A rolling upgrade: a worker with the new settings joins, then the old one leaves. */
async function restartWith(fleet: Fleet, changes: Readonly<Record<string, unknown>>): Promise<void> {
  fleet.start(changes);
  await fleet.play("leave");
}

test("a changed interval restarts a series, which is counted, logged and visible in the forecasts", async (t) => {
  const fleet = Fleet.openFor(t);
  await fleet.play(...hourly("a", 0, ramp(12)), "settle");
  await restartWith(fleet, { "series.interval": "PT30M" });
  await fleet.play("settle", at("a", 12, 1), at("a", 12.5, 2), "settle");
  const last = (await fleet.forecasts()).at(-1);
  assert.deepEqual([last?.interval, last?.freshSteps, last?.method], ["PT30M", 2, "persistence"]);
  const told = fleet.logged.filter(({ message }) => message.startsWith("series restarts"));
  assert.deepEqual(
    told.map(({ facts }) => facts),
    [{ seriesId: "a", storedInterval: "PT1H", configuredInterval: "PT30M" }],
  );
  const { body } = await fleet.page("/metrics");
  assert.match(body, /^forecastnet_series_resets_total\{reason="interval"\} 1$/m);

  // Blocks written since the change win over those stored before it.
  await fleet.play("crash", at("a", 13, 3), "settle");
  assert.deepEqual((await fleet.forecasts()).at(-1)?.freshSteps, 3);
});

test("a changed history keeps the points that fit, however often it changes", async (t) => {
  const fleet = Fleet.openFor(t, { settings: { "series.history": 64 } });
  let hour = 0;
  const grow = async (steps: number) => {
    await fleet.play("settle", ...hourly("a", hour, ramp(steps, hour)), "settle");
    hour += steps;
    return (await fleet.forecasts()).at(-1)?.freshSteps;
  };
  assert.equal(await grow(200), 64);
  await restartWith(fleet, { "series.history": 500 });
  const kept = await grow(1);
  assert.ok(kept !== undefined && kept > 64 && kept <= 192, `${kept} steps, of whole blocks around 64`);
  assert.equal(await grow(300), kept + 300);
  await restartWith(fleet, { "series.history": 100 });
  assert.equal(await grow(1), 100);
  await restartWith(fleet, { "series.history": 500 });
  assert.ok(((await grow(1)) ?? 0) >= 100);
  const forecasts = await fleet.forecasts();
  assert.deepEqual(
    forecasts.map(({ origin }) => hourOf(origin)),
    ramp(hour - 1, 1),
  );
});

test("a changed horizon and season apply from the next forecast on", async (t) => {
  const fleet = Fleet.openFor(t);
  await fleet.play(...hourly("a", 0, ramp(10)), "settle");
  await restartWith(fleet, { "series.horizon": 5, "series.season": 2 });
  await fleet.play("settle", at("a", 10, 10), "settle");
  const last = (await fleet.forecasts()).at(-1);
  assert.deepEqual(last?.mean, [9, 10, 9, 10, 9]);
  assert.equal(last?.freshSteps, 11);
});

test("other levels drop the live scores of every series, which is counted and logged once", async (t) => {
  const fleet = await Fleet.openFor(t);
  await fleet.play(...hourly("a", 0, ramp(12)), ...hourly("b", 0, ramp(12)), "settle");
  assert.notEqual((await fleet.forecasts()).at(-1)?.scores ?? null, null, "the series have scores to lose");
  await restartWith(fleet, { "output.levels": [0.2, 0.5, 0.8] });
  await fleet.play("settle", at("a", 12, 12), at("b", 12, 12), "settle");
  const dropped = () => fleet.logged.filter(({ message }) => message.startsWith("live scores dropped"));
  assert.deepEqual(
    dropped().map(({ level, message, facts }) => [level, message, facts]),
    [
      [
        "warn",
        "live scores dropped, they do not fit the configured levels or horizon",
        { partition: 0, series: 2, forecasts: 10 },
      ],
    ],
  );
  const { body } = await fleet.page("/metrics");
  assert.match(body, /^forecastnet_live_scores_dropped_total 2$/m);
  assert.equal((await fleet.forecasts()).at(-1)?.scores, null);

  // Stored again with the new levels, they fit.
  await fleet.play("crash", at("a", 13, 13), "settle");
  assert.equal(dropped().length, 1);
  assert.equal((await fleet.forecasts()).at(-1)?.scores?.scoredSteps, 1);
});
