// Series that share a model. The model is trained on members of all partitions and serves a new member at once; a member
// leaves when a model of its own is better.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventsOf, feed, kindsOf, noisy, retrainingFleet, wave } from "./support/retraining.ts";

const cohort = { "series.overrides": [{ match: "*-pump", cohort: "pumps" }] };

/** The same pattern at another scale. */
const pump = (size: number, seed: number) => {
  const law = noisy(wave(3, 8), 0.3, seed);
  return (hour: number) => size * law(hour);
};

describe("a cohort", () => {
  test("is trained on members of all partitions, and serves each of them and a new member at once", async (t) => {
    const fleet = retrainingFleet(t, { partitions: 3, settings: cohort });
    const laws = { "a-pump": pump(1, 1), "b-pump": pump(100, 2), "c-pump": pump(1e4, 3), c: pump(1, 4) };
    await feed(fleet, laws, 0, 102);
    const [requested, promoted] = await eventsOf(fleet, "cohort:pumps");
    assert.deepEqual(kindsOf([requested, promoted]), ["REQUESTED", "PROMOTED"]);
    await feed(fleet, { ...laws, "d-pump": pump(10, 5) }, 102, 138);
    const last = (await fleet.forecasts()).filter(({ origin }) => origin === Date.UTC(2024, 0, 1, 137));
    const servedBy = Object.fromEntries(
      last.map(({ seriesId, tier, modelKey, modelVersion }) => [seriesId, [tier, modelKey, modelVersion]]),
    );
    const shared = ["COHORT", "cohort:pumps", promoted.toVersion];
    assert.deepEqual(servedBy, {
      ...{ "a-pump": shared, "b-pump": shared, "c-pump": shared, "d-pump": shared },
      c: ["MODEL", "c", servedBy.c[2]],
    });
    // Each member is scored in its own units, and forecast well at every scale.
    for (const { seriesId, scores } of last.filter(({ tier }) => tier === "COHORT")) {
      assert.ok((scores?.mase ?? Number.NaN) < 0.6, `${seriesId} has a live MASE of ${scores?.mase}`);
    }
  });

  test("survives a restart, and every partition has its model", async (t) => {
    const fleet = retrainingFleet(t, { partitions: 2, settings: cohort });
    const laws = { "a-pump": pump(1, 1), "b-pump": pump(100, 2) };
    await feed(fleet, laws, 0, 102);
    const [, promoted] = await eventsOf(fleet, "cohort:pumps");
    await fleet.play("restart", "settle");
    await feed(fleet, laws, 102, 108);
    const last = (await fleet.forecasts()).filter(({ origin }) => origin === Date.UTC(2024, 0, 1, 107));
    assert.deepEqual(
      last.map(({ modelVersion }) => modelVersion),
      [promoted.toVersion, promoted.toVersion],
    );
    const models = (await fleet.read("forecastnet.models")).map(({ key }) => String(key));
    assert.deepEqual(models, ["cohort:pumps", "cohort:pumps"]);
  });

  test("loses a member whose own model passes the gate against it", async (t) => {
    const fleet = retrainingFleet(t, { settings: cohort });
    const odd = noisy((hour) => 50 + 20 * Math.sin(hour * 1.9) + 12 * Math.sin(hour * 0.31), 0.3, 9);
    await feed(fleet, { "a-pump": pump(1, 1), "b-pump": pump(100, 2), "z-pump": odd }, 0, 240);
    const events = await eventsOf(fleet, "z-pump");
    const promoted = events.find(({ kind }) => kind === "PROMOTED");
    assert.ok(promoted !== undefined, `no model of its own in ${kindsOf(events)}`);
    assert.ok(promoted.numbers.challengerMase < promoted.numbers.championMase);
    const last = (await fleet.forecasts()).filter(({ seriesId }) => seriesId === "z-pump").at(-1);
    assert.deepEqual([last?.tier, last?.modelVersion], ["MODEL", promoted.toVersion]);
  });
});
