// Retraining through crashes, zombies and rebalances: a model is promoted once, a decision told once, and what was
// learnt of a series is not lost with a worker.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ModelEventRecord } from "../../src/log/codec/schemas.generated.ts";
import { createRandom } from "../../src/runtime/random.ts";
import type { Fleet, Word } from "./support/fleet.ts";
import { at } from "./support/readings.ts";
import {
  eventsOf,
  feed,
  horizon,
  kindsOf,
  noisy,
  retrainingFleet,
  trainerWith,
  wave,
} from "./support/retraining.ts";
import { until } from "./support/turns.ts";

const law = noisy(wave(3, 8), 0.5, 1);

/** The versions that serve one after the other, as the events tell it. */
function reign(events: readonly ModelEventRecord[]): readonly (string | null)[] {
  return events
    .filter(({ kind }) => kind === "PROMOTED" || kind === "ROLLED_BACK" || kind === "RETIRED")
    .map(({ toVersion }) => toVersion);
}

async function check(fleet: Fleet): Promise<void> {
  const events = await eventsOf(fleet, "a");
  const ids = events.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length, "an event was told twice");
  const forecasts = await fleet.forecasts();
  assert.equal(new Set(forecasts.map(({ id }) => id)).size, forecasts.length, "a forecast was made twice");
  const ofModel = forecasts.filter(({ tier, seriesId }) => tier === "MODEL" && seriesId === "a");
  const served = ofModel.map(({ modelVersion }) => modelVersion);
  const inOrder = served.filter((version, i) => version !== served[i - 1]);
  const told = reign(events).filter((version) => version !== null);
  // The newest promotion may not have been followed by a forecast yet.
  assert.deepEqual(inOrder, told.slice(0, inOrder.length));
  assert.ok(told.length - inOrder.length <= 1);
}

describe("a worker that goes", () => {
  test("while its model is on probation leaves it to the next one, with its scores", async (t) => {
    const quiet = await retrainingFleet(t);
    await feed(quiet, { a: law }, 0, 132);
    const fleet = await retrainingFleet(t);
    await feed(fleet, { a: law }, 0, 90);
    await fleet.play("restart", "settle");
    await feed(fleet, { a: law }, 90, 132);
    assert.deepEqual(kindsOf(await eventsOf(fleet, "a")), ["REQUESTED", "PROMOTED", "CONFIRMED"]);
    // Not a score differs from those of a fleet that nothing happened to.
    const last = (await fleet.forecasts()).at(-1);
    const lastOfQuiet = (await quiet.forecasts()).at(-1);
    assert.ok((last?.scores?.scoredSteps ?? 0) > 30);
    assert.deepEqual(last, lastOfQuiet);
    await check(fleet);
  });

  test("while it trains loses the training, which is told, and the next one trains again", async (t) => {
    let isUnderWay = false;
    const trainer = await trainerWith()();
    const fleet = await retrainingFleet(t, {
      settings: { "retrain.cooldownSteps": 6 },
      openTrainer: async () => ({
        ...trainer,
        train: (tasks, signal) => {
          if (isUnderWay) return trainer.train(tasks, signal);
          // The first training ends only when it is cancelled.
          isUnderWay = true;
          return new Promise((resolve) => {
            signal.addEventListener("abort", () => resolve(tasks.map(() => ({ outcome: "cancelled" }))));
          });
        },
      }),
    });
    await feed(fleet, { a: law }, 0, 71);
    await fleet.play(at("a", 71, law(71)), "settle", { laterMs: 5 * 60_000 });
    fleet.worker.retrainer?.poke();
    await until(() => isUnderWay, "the training to begin");
    await fleet.play(at("a", 72, law(72)), "settle", "crash", "settle");
    await feed(fleet, { a: law }, 73, 108);
    const kinds = kindsOf(await eventsOf(fleet, "a"));
    assert.deepEqual(kinds.slice(0, 4), ["REQUESTED", "FAILED", "REQUESTED", "PROMOTED"]);
    await check(fleet);
  });
});

test("whatever happens to the fleet, the events tell who served, each once", async (t) => {
  const random = createRandom(5);
  const words: readonly Word[] = [
    "crash",
    "zombie",
    "restart",
    "rebalance",
    "join",
    "leave",
    "fenced before",
  ];
  const fleet = await retrainingFleet(t, { settings: { "retrain.cooldownSteps": 12 } });
  const after = noisy(wave(8, 5), 0.5, 1);
  const changing = (hour: number) => (hour < 150 ? law : after)(hour);
  for (let hour = 0; hour < 300; hour += horizon) {
    await feed(fleet, { a: changing, b: law }, hour, hour + horizon);
    if (random.uniform() < 0.4) {
      const word = words[Math.floor(random.uniform() * words.length)];
      await fleet.play(word, "settle");
    }
  }
  const kinds = kindsOf(await eventsOf(fleet, "a"));
  assert.ok(
    kinds.includes("DRIFTED") && kinds.filter((kind) => kind === "PROMOTED").length >= 2,
    String(kinds),
  );
  await check(fleet);
});
