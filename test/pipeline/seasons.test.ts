// Seasons that are found rather than configured: from the first forecast to a crash after they were decided.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createRandom } from "../../src/runtime/random.ts";
import { Fleet } from "./support/fleet.ts";
import { at, hourly, hourOf } from "./support/readings.ts";
import { retrainingFleet, trainerWith } from "./support/retraining.ts";

const auto = {
  "series.season": "auto",
  "series.history": 0,
  "series.horizon": 6,
  "output.precision": "double",
};
const noise = (seed: number) => {
  const random = createRandom(seed);
  return () => random.normal();
};

/** Days whose evenings are high, with a little noise. */
function daily(hours: number, seed = 1): number[] {
  const next = noise(seed);
  return Array.from({ length: hours }, (_, hour) => 50 + 10 * Math.sin((hour / 24) * 2 * Math.PI) + next());
}

/** The same with weekends that are low. */
function weekly(hours: number, seed = 1): number[] {
  return daily(hours, seed).map((value, hour) => value - (Math.floor(hour / 24) % 7 >= 5 ? 25 : 0));
}

const found = (fleet: Fleet) => fleet.logged.filter(({ message }) => message === "season found");

describe("a series of hours whose season is auto", () => {
  test("repeats the day from its third day on, whatever the horizon", async (t) => {
    const fleet = Fleet.openFor(t, { settings: auto });
    const values = daily(60);
    await fleet.play(...hourly("a", 0, values), "settle");
    const forecasts = await fleet.forecasts();
    const methodAt = (hour: number) => forecasts.find(({ origin }) => hourOf(origin) === hour)?.method;
    assert.deepEqual([methodAt(46), methodAt(47)], ["persistence", "seasonal-naive"]);
    assert.deepEqual(forecasts.at(-1)?.mean, values.slice(60 - 24, 60 - 24 + 6));
  });

  test("confirms its day and says so once", async (t) => {
    const fleet = Fleet.openFor(t, { settings: auto });
    await fleet.play(...hourly("a", 0, daily(240)), "settle");
    assert.deepEqual(
      found(fleet).map(({ facts }) => facts),
      [{ seriesId: "a", seasons: [24], season: 24, naiveSeason: 24, steps: 144 }],
    );
  });

  test("finds its week, too, and then repeats the week where that is better", async (t) => {
    const fleet = Fleet.openFor(t, { settings: auto });
    const values = weekly(700);
    await fleet.play(...hourly("a", 0, values), "settle");
    const { facts } = found(fleet).at(-1) ?? assert.fail("no season was found");
    assert.deepEqual([facts.seasons, facts.season, facts.naiveSeason], [[24, 168], 24, 168]);
    const { mean } = (await fleet.forecasts()).at(-1) ?? assert.fail("no forecast");
    assert.deepEqual(mean, values.slice(700 - 168, 700 - 168 + 6));
  });

  test("repeats the day again after a gap, until it has two weeks", async (t) => {
    const fleet = Fleet.openFor(t, { settings: auto });
    const values = weekly(800);
    const later = values.slice(700);
    await fleet.play(...hourly("a", 0, values.slice(0, 690)), ...hourly("a", 700, later), "settle");
    const { mean, method } = (await fleet.forecasts()).at(-1) ?? assert.fail("no forecast");
    assert.deepEqual([method, mean], ["seasonal-naive", values.slice(800 - 24, 800 - 24 + 6)]);
  });

  test("forecasts the same bytes whether or not its worker crashed on the way", async (t) => {
    const values = weekly(620);
    const run = async (crashes: readonly number[]) => {
      const fleet = Fleet.openFor(t, { settings: { ...auto, "pipeline.maxBatchRecords": 50 } });
      for (const [i, value] of values.entries()) {
        await fleet.play(at("a", i, value));
        if (crashes.includes(i)) await fleet.play("crash");
      }
      await fleet.play("settle");
      return JSON.stringify(await fleet.forecasts());
    };
    assert.equal(await run([60, 150, 505, 530]), await run([]));
  });
});

test("a series that wanders has no season, and repeats its last hours", async (t) => {
  const fleet = Fleet.openFor(t, { settings: auto });
  const next = noise(7);
  let level = 0;
  const walk = Array.from({ length: 600 }, () => {
    level += next();
    return level;
  });
  await fleet.play(...hourly("a", 0, walk), "settle");
  assert.deepEqual(found(fleet), []);
  const { mean } = (await fleet.forecasts()).at(-1) ?? assert.fail("no forecast");
  assert.deepEqual(mean, walk.slice(600 - 6));
});

test("a series whose interval has no day or week in whole steps repeats its horizon", async (t) => {
  const fleet = Fleet.openFor(t, { settings: { ...auto, "series.interval": "PT5H" } });
  const values = Array.from({ length: 40 }, (_, i) => i % 11);
  await fleet.play(...values.map((value, i) => at("a", 5 * i, value)), "settle");
  const { mean } = (await fleet.forecasts()).at(-1) ?? assert.fail("no forecast");
  assert.deepEqual(mean, values.slice(40 - 6));
});

test("an override fixes the season of its series alone", async (t) => {
  const overrides = [{ match: "b*", season: 5 }];
  const fleet = Fleet.openFor(t, { settings: { ...auto, "series.overrides": overrides } });
  const values = daily(60);
  await fleet.play(...hourly("a", 0, values), ...hourly("b", 0, values), "settle");
  const forecasts = await fleet.forecasts();
  const meanOf = (id: string) => forecasts.findLast(({ seriesId }) => seriesId === id)?.mean[0];
  assert.deepEqual([meanOf("a"), meanOf("b")], [values[60 - 24], values[60 - 5]]);
});

test("a training decides anew: a series that lost its week and its day is built on the day, and does not repeat the week", async (t) => {
  const next = noise(11);
  const plans: number[] = [];
  const fleet = retrainingFleet(t, {
    settings: { ...auto, "series.family": "linear", "retrain.maxAgeHours": 1 },
    openTrainer: trainerWith({
      blind: (task) => {
        plans.push(task.plan.season);
        return task;
      },
    }),
  });
  await fleet.play(...hourly("a", 0, weekly(700)), "settle");
  assert.deepEqual(found(fleet).at(-1)?.facts.naiveSeason, 168);
  await fleet.play(
    ...hourly(
      "a",
      700,
      Array.from({ length: 700 }, () => next()),
    ),
    "settle",
    "turn",
  );
  const lost = fleet.logged.filter(({ message }) => message === "no season found");
  assert.deepEqual(
    lost.map(({ facts: { seasons, season, naiveSeason } }) => [seasons, season, naiveSeason === 168]),
    [[[], 24, false]],
  );
  assert.deepEqual(plans, [24]);
  await fleet.play(at("a", 1400, 0), "settle", "crash", at("a", 1401, 0), "settle");
  assert.equal(fleet.logged.filter(({ message }) => message === "no season found").length, 1);
});
