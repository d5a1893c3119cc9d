// Retraining through crashes, zombies and rebalances: a model is promoted once, a decision is reported once, and live
// scores are not lost with a worker.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ModelEventRecord } from "../../src/log/codec/schemas.generated.ts";
import { createRandom } from "../../src/runtime/random.ts";
import { createInProcessTrainer } from "../../src/training/in-process-trainer.ts";
import type { ModelTrainer } from "../../src/training/training-task.ts";
import type { Fleet, Word } from "./support/fleet.ts";
import { at } from "./support/readings.ts";
import { eventsOf, feed, horizon, kindsOf, noisy, retrainingFleet, wave } from "./support/retraining.ts";
import { until } from "./support/turns.ts";

const law = noisy(wave(3, 8), 0.5, 1);

/** The versions that served, in order, according to the events. */
function servedVersions(events: readonly ModelEventRecord[]): readonly (string | null)[] {
  return events
    .filter(({ kind }) => kind === "PROMOTED" || kind === "ROLLED_BACK" || kind === "RETIRED")
    .map(({ toVersion }) => toVersion);
}

async function check(fleet: Fleet): Promise<void> {
  const events = await eventsOf(fleet, "a");
  const ids = events.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length, "an event was written twice");
  const forecasts = await fleet.forecasts();
  assert.equal(new Set(forecasts.map(({ id }) => id)).size, forecasts.length, "a forecast was made twice");
  const ofModel = forecasts.filter(({ tier, seriesId }) => tier === "MODEL" && seriesId === "a");
  const served = ofModel.map(({ modelVersion }) => modelVersion);
  const inOrder = served.filter((version, i) => version !== served[i - 1]);
  const told = servedVersions(events).filter((version) => version !== null);
  // There may be no forecast yet since the newest promotion.
  assert.deepEqual(inOrder, told.slice(0, inOrder.length));
  assert.ok(told.length - inOrder.length <= 1);
}

describe("a worker that ends", () => {
  test("while a model is on probation leaves the model and its scores to the next worker", async (t) => {
    const quiet = retrainingFleet(t);
    await feed(quiet, { a: law }, 0, 132);
    const fleet = retrainingFleet(t);
    await feed(fleet, { a: law }, 0, 90);
    await fleet.play("restart", "settle");
    await feed(fleet, { a: law }, 90, 132);
    assert.deepEqual(kindsOf(await eventsOf(fleet, "a")), ["REQUESTED", "PROMOTED", "CONFIRMED"]);
    // All scores equal those of an undisturbed fleet.
    const last = (await fleet.forecasts()).at(-1);
    const lastOfQuiet = (await quiet.forecasts()).at(-1);
    assert.ok((last?.scores?.scoredSteps ?? 0) > 30);
    assert.deepEqual(last, lastOfQuiet);
    await check(fleet);
  });

  test("while it trains loses the training, which is reported, and the next worker trains again", async (t) => {
    let isUnderWay = false;
    const fleet = retrainingFleet(t, {
      settings: { "retrain.cooldownSteps": 6 },
      openTrainer: async (engine) => {
        const trainer = createInProcessTrainer(engine);
        const train: ModelTrainer["train"] = (tasks, signal) => {
          if (isUnderWay) return trainer.train(tasks, signal);
          // The first training ends only when it is cancelled.
          isUnderWay = true;
          return new Promise((resolve) => {
            signal.addEventListener("abort", () => resolve(tasks.map(() => ({ outcome: "cancelled" }))));
          });
        };
        return { ...trainer, train };
      },
    });
    await feed(fleet, { a: law }, 0, 71);
    await fleet.play(at("a", 71, law(71)), "settle", { laterMs: 5 * 60_000 });
    fleet.worker.retrainer?.check();
    await until(() => isUnderWay, "the training to begin");
    await fleet.play(at("a", 72, law(72)), "settle", "crash", "settle");
    await feed(fleet, { a: law }, 73, 108);
    const kinds = kindsOf(await eventsOf(fleet, "a"));
    assert.deepEqual(kinds.slice(0, 4), ["REQUESTED", "FAILED", "REQUESTED", "PROMOTED"]);
    await check(fleet);
  });
});

test("whatever happens to the fleet, the events name every serving version once", async (t) => {
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
  const fleet = retrainingFleet(t, { settings: { "retrain.cooldownSteps": 12 } });
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
