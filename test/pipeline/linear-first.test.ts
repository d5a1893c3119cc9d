// The way of a series of the family auto: a linear model as soon as there is a little history, fitted again as the series goes on,
// and all families in competition once there is history enough for nets.

import assert from "node:assert/strict";
import { test } from "node:test";
import { modelRecordCodec } from "../../src/log/codec/model-record.ts";
import { lineOf } from "../../src/models/life.ts";
import type { Fleet } from "./support/fleet.ts";
import { eventsOf, feed, noisy, retrainingFleet, wave } from "./support/retraining.ts";

const settings = { "series.family": "auto" };
/** Nets are expected to gain less. */
const withoutNets = { ...settings, "retrain.leastGain": 0.5 };
const laws = { a: noisy(wave(3, 6), 0.6, 1) };

async function promotionsOf(fleet: Fleet) {
  return (await eventsOf(fleet, "a")).filter(({ kind }) => kind === "PROMOTED");
}

test("a series gets a linear model after eight seasons, which goes on as it is fitted to newer data", async (t) => {
  const fleet = retrainingFleet(t, { settings: withoutNets });
  await feed(fleet, laws, 0, 130);
  const events = await eventsOf(fleet, "a");
  assert.deepEqual(
    [events[0].kind, events[0].reason, events[1].kind],
    ["REQUESTED", "new", "PROMOTED"],
    events.map(({ kind, reason }) => `${kind} ${reason}`).join("; "),
  );
  assert.ok(
    (await fleet.forecasts()).filter(({ tier }) => tier === "COLD").length <= 60,
    "the cold tier serves for ten seasons at most",
  );
  const promotions = await promotionsOf(fleet);
  const versions = promotions.map(({ toVersion }) => toVersion ?? "");
  const refreshed = versions.slice(1).filter((version) => lineOf(version) === versions[0]);
  assert.ok(refreshed.length > 0, events.map(({ kind, reason }) => `${kind} ${reason}`).join("; "));

  const served = (await fleet.forecasts()).filter(({ modelVersion }) => refreshed.includes(modelVersion));
  const [first] = served;
  assert.equal(first.method, "linear");
  assert.ok((first.scores?.scoredSteps ?? 0) > 0, "its scores are those of the line");
  assert.ok(first.calibration !== null, "and so is its calibration");
  assert.equal(
    (await fleet.forecasts()).length,
    new Set((await fleet.forecasts()).map(({ id }) => id)).size,
    "every forecast has an id of its own",
  );
});

test("a refreshed model survives a restart with the scores of its line", async (t) => {
  const fleet = retrainingFleet(t, { settings: withoutNets });
  await feed(fleet, laws, 0, 130);
  const before = (await fleet.forecasts()).at(-1);
  await fleet.play("restart", "settle");
  await feed(fleet, laws, 130, 131);
  const after = (await fleet.forecasts()).at(-1);
  assert.equal(after?.modelVersion, before?.modelVersion);
  assert.ok((after?.scores?.scoredSteps ?? 0) > (before?.scores?.scoredSteps ?? 0));
});

test("all families compete once there are twelve seasons, and the best model on held-out data serves", async (t) => {
  const fleet = retrainingFleet(t, { settings: { ...settings, "retrain.leastGain": 0 } });
  await feed(fleet, laws, 0, 120);
  const events = await eventsOf(fleet, "a");
  const upgrades = events.filter(({ kind, reason }) => kind === "REQUESTED" && reason === "upgrade");
  assert.equal(upgrades.length, 1, events.map(({ kind, reason }) => `${kind} ${reason}`).join("; "));
  const asked = events.indexOf(upgrades[0]);
  assert.ok(["PROMOTED", "REFUSED"].includes(events[asked + 1].kind), "the gate has decided");
  const records = (await fleet.read("forecastnet.models")).flatMap(({ value }) =>
    value === null ? [] : [modelRecordCodec.decode(value)],
  );
  for (const { family } of records) assert.ok(["linear", "forecastnet", "ensemble"].includes(family), family);
});

test("nets are not tried where they are expected to gain less than asked for", async (t) => {
  const fleet = retrainingFleet(t, { settings: withoutNets });
  await feed(fleet, laws, 0, 120);
  const reasons = (await eventsOf(fleet, "a")).map(({ reason }) => reason);
  assert.ok(!reasons.includes("upgrade"), reasons.join("; "));
});
