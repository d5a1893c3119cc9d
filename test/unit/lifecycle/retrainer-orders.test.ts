// What the loop makes of outcomes and orders that others laid on the topic, and of its own mishaps.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { orderKey, outcomeKey } from "../../../src/log/codec/model-keys.ts";
import { storedFamilies } from "../../../src/models/families.ts";
import { encodeOutcome } from "../../../src/training/outcome-codec.ts";
import type { TrainingResult } from "../../../src/training/training-task.ts";
import { openIdleEngine } from "../../pipeline/support/idle-engine.ts";
import { turns } from "../../pipeline/support/turns.ts";
import { trainedModel } from "../../rig/training-task.ts";
import { encodeOrder, encodeRecord, eventsIn, orderOf, recordOf, writtenIn } from "./lifecycle-fixture.ts";
import { failing, LoopFixture, type LoopOptions, minuteMs, Trainings } from "./loop-fixture.ts";

type Finished = Exclude<TrainingResult, { readonly outcome: "cancelled" }>;

const flat: Finished = { outcome: "failed", reason: "too flat" };
const trained: Finished = { outcome: "trained", challengers: [trainedModel()] };

/** Lays an outcome or an order on the topic. */
async function lay(loop: LoopFixture, key: string, value: Buffer): Promise<void> {
  loop.lifecycle.lifecycle.receive([{ key: Buffer.from(key), value }]);
  await turns(5);
}

const layOutcome = (loop: LoopFixture, requestId: string, result: Finished = flat) =>
  lay(
    loop,
    outcomeKey("a"),
    encodeOutcome({ requestId, modelKey: "a", result, endedAtMs: 0 }, storedFamilies),
  );

const layOrder = (loop: LoopFixture, changes: Parameters<typeof orderOf>[1]) =>
  lay(loop, orderKey("a"), encodeOrder(orderOf("a", changes)));

const toldIn = (records: Parameters<typeof eventsIn>[0]) =>
  eventsIn(records).map(({ kind, reason }) => `${kind}: ${reason}`);

/** A series whose training was asked of trainers. */
async function awaiting(t: TestContext, options: LoopOptions = {}): Promise<LoopFixture> {
  const loop = await LoopFixture.openFor(t, { ...options, loop: { where: "trainers", ...options.loop } });
  loop.lifecycle.place("a");
  loop.lifecycle.live("a", { phase: "training", requestId: "r1", sinceMs: loop.now.ms });
  return loop;
}

describe("an outcome", () => {
  test("of the request that is waited for is judged, and goes with the decision", async (t) => {
    const loop = await awaiting(t);
    await layOutcome(loop, "r1");
    const records = loop.apply();
    assert.deepEqual(toldIn(records), ["FAILED: too flat"]);
    assert.deepEqual(writtenIn(records), ["models/0 a\u0000outcome deleted"]);
    assert.deepEqual([loop.lifecycle.life("a").phase, loop.lifecycle.life("a").requestId], ["cold", null]);
  });

  test("of another request is dismissed without a word, and the wait goes on", async (t) => {
    const loop = await awaiting(t);
    await layOutcome(loop, "r0", trained);
    assert.deepEqual(writtenIn(loop.apply()), ["models/0 a\u0000outcome deleted"]);
    assert.deepEqual(
      [loop.lifecycle.life("a").phase, loop.lifecycle.life("a").requestId],
      ["training", "r1"],
    );
    await layOutcome(loop, "r1");
    assert.deepEqual(toldIn(loop.apply()), ["FAILED: too flat"]);
  });

  test("that is told twice is judged once", async (t) => {
    const loop = await awaiting(t);
    await layOutcome(loop, "r1");
    await layOutcome(loop, "r1");
    assert.deepEqual(toldIn(loop.apply()), ["FAILED: too flat"]);
    await loop.check();
    assert.deepEqual(toldIn(loop.apply()), []);
    assert.equal(loop.lifecycle.lifecycle.outcomes.size, 0);
  });

  test("that cannot be judged is counted once a minute, and the loop goes on with the others", async (t) => {
    const engine = await openIdleEngine(); // It refuses to forecast.
    const loop = await awaiting(t, { engine });
    loop.lifecycle.place("a", 5000, 60);
    await layOutcome(loop, "r1", trained);
    for (let i = 0; i < 5; i++) await loop.check();
    assert.equal(loop.counts.of("failed"), 1);
    loop.lifecycle.lifecycle.accept(orderOf("b"));
    await loop.check(minuteMs);
    assert.equal(loop.counts.of("failed"), 2, "it is tried again");
    assert.deepEqual(toldIn(loop.apply()), [
      "REFUSED: there is nothing to roll back: the series has no model of its own",
    ]);
    assert.equal(loop.lifecycle.lifecycle.outcomes.size, 1, "what waits is not lost");
  });
});

describe("a training that throws", () => {
  test("is counted, the others go on, and its series is told to have failed", async (t) => {
    const loop = await LoopFixture.openFor(t, {
      script: (task, signal) => {
        if (task.modelKey === "a") throw new Error("the thread ended");
        return failing(task, signal);
      },
    });
    loop.addCold({ a: 2, b: 1 });
    await loop.turn();
    assert.deepEqual([loop.trained, loop.counts.of("failed")], [["a", "b"], 1]);
    loop.apply();
    await loop.turn();
    const [{ modelKey, kind }] = eventsIn(loop.apply());
    assert.deepEqual([modelKey, kind, loop.lifecycle.life("a").phase], ["a", "FAILED", "cold"]);
    assert.deepEqual(loop.retrainer.status, { inFlight: 0, waiting: 0, budgetSeconds: null });
  });
});

test("a turn that throws is counted, and the next one is taken", async (t) => {
  const loop = await LoopFixture.openFor(t);
  loop.addCold({ a: 1 });
  const { timesOf } = loop.lifecycle.lifecycle.view;
  let isBroken = true;
  Object.assign(loop.lifecycle.lifecycle.view, {
    timesOf: (seriesId: string) => {
      if (isBroken) throw new Error("no such grid");
      return timesOf(seriesId);
    },
  });
  await loop.turn();
  assert.deepEqual([loop.trained, loop.counts.of("failed")], [[], 1]);
  isBroken = false;
  await loop.turn();
  assert.deepEqual([loop.trained, loop.counts.of("failed")], [["a"], 1]);
});

describe("an order to retrain", () => {
  test("is carried out at once, whatever the schedule, and goes with the request", async (t) => {
    const trainings = new Trainings();
    const loop = await LoopFixture.openFor(t, { script: trainings.script });
    loop.lifecycle.place("a", 50, 12); // Less than the schedule would ask for.
    loop.lifecycle.live("a");
    await layOrder(loop, { kind: "RETRAIN" });
    assert.deepEqual(loop.trained, ["a"]);
    const records = loop.apply();
    assert.deepEqual(toldIn(records), ["REQUESTED: manual"]);
    assert.deepEqual(writtenIn(records), ["models/0 a\u0000order deleted"]);
  });

  test("waits for a place before all others, and outlives the worker until it has one", async (t) => {
    const trainings = new Trainings();
    const loop = await LoopFixture.openFor(t, { script: trainings.script, loop: { inFlight: 1 } });
    loop.addCold({ b: 3, c: 2 });
    loop.lifecycle.place("a");
    loop.lifecycle.live("a", { restsUntilMs: Number.MAX_SAFE_INTEGER });
    await loop.turn();
    await layOrder(loop, { kind: "RETRAIN" });
    assert.deepEqual(writtenIn(loop.apply()), [], "the order still lies on the topic");
    await trainings.end("b");
    assert.deepEqual(loop.trained, ["b", "a"]);
    assert.deepEqual(writtenIn(loop.apply()), ["models/0 a\u0000order deleted"]);
  });

  test("while trainers train the series waits until they have answered", async (t) => {
    const loop = await awaiting(t);
    await layOrder(loop, { kind: "RETRAIN" });
    await loop.check();
    assert.deepEqual(loop.apply(), []);
    assert.equal(loop.lifecycle.life("a").requestId, "r1");
    await layOutcome(loop, "r1");
    assert.deepEqual(toldIn(loop.apply()), ["FAILED: too flat"]);
    await loop.check();
    const records = loop.apply();
    assert.deepEqual(toldIn(records), ["REQUESTED: manual"]);
    assert.deepEqual(writtenIn(records), ["models/0 a\u0000order deleted", "training/0 a"]);
  });

  test("while this worker trains the series waits for the end of it", async (t) => {
    const trainings = new Trainings();
    const loop = await LoopFixture.openFor(t, { script: trainings.script });
    loop.addCold({ a: 1 });
    await loop.turn();
    await layOrder(loop, { kind: "RETRAIN" });
    assert.deepEqual(loop.trained, ["a"]);
    await trainings.end("a");
    loop.apply();
    await loop.check();
    assert.deepEqual(loop.trained, ["a", "a"]);
  });

  test("of a series without history is refused with the reason", async (t) => {
    const loop = await LoopFixture.openFor(t);
    loop.lifecycle.live("a");
    await layOrder(loop, { kind: "RETRAIN" });
    const records = loop.apply();
    assert.deepEqual(toldIn(records), ["REFUSED: there is too little history to train on"]);
    assert.deepEqual(writtenIn(records), ["models/0 a\u0000order deleted"]);
  });

  test("where nobody trains is refused with the reason", async (t) => {
    const loop = await LoopFixture.openFor(t, { loop: { where: "off" } });
    loop.addCold({ a: 1 });
    await loop.turn();
    await layOrder(loop, { kind: "RETRAIN" });
    const records = loop.apply();
    assert.deepEqual(toldIn(records), ["REFUSED: retrain.where is off: no training is allowed"]);
    assert.deepEqual(writtenIn(records), ["models/0 a\u0000order deleted"]);
    assert.equal(loop.lifecycle.life("a").phase, "cold");
  });
});

describe("an order", () => {
  /** Nothing is in the way of the test's own orders; what served before is read when the test says so. */
  async function withPredecessor(t: TestContext, options: LoopOptions = {}) {
    let answer = () => {};
    const read = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const previous = encodeRecord(recordOf("a", "v1"));
    const readRecord = async () => {
      await read;
      return recordOf("a", "v2", { previous, previousVersion: "v1" });
    };
    const loop = await LoopFixture.openFor(t, { readRecord, ...options });
    loop.lifecycle.place("a");
    loop.lifecycle.serve("a", "v2", { previousVersion: "v1" });
    loop.lifecycle.live("a", { phase: "champion" });
    return { loop, answer };
  }

  test("to roll back or to import is carried out where nobody trains", async (t) => {
    const { loop, answer } = await withPredecessor(t, { loop: { where: "off" } });
    answer();
    await layOrder(loop, { kind: "ROLL_BACK" });
    const records = loop.apply();
    assert.deepEqual(toldIn(records), ["ROLLED_BACK: ordered by hand: v1 serves again"]);
    assert.deepEqual(writtenIn(records), ["models/0 a\u0000order deleted", "models/0 a v1"]);
    await layOrder(loop, { kind: "IMPORT", record: encodeRecord(recordOf("a", "v7")), skipsGate: true });
    assert.deepEqual(toldIn(loop.apply()), ["PROMOTED: ordered by hand, without the gate"]);
    assert.equal(loop.lifecycle.models.get("a")?.facts.version, "v7");
  });

  test("that comes while another is carried out follows it", async (t) => {
    const { loop, answer } = await withPredecessor(t);
    await layOrder(loop, { kind: "ROLL_BACK", id: "o1" });
    const record = encodeRecord(recordOf("a", "v7"));
    await layOrder(loop, { kind: "IMPORT", id: "o2", record, skipsGate: true });
    answer();
    await turns(5);
    const first = loop.apply();
    assert.deepEqual(toldIn(first), ["ROLLED_BACK: ordered by hand: v1 serves again"]);
    assert.deepEqual(writtenIn(first), ["models/0 a v1"], "the second one still lies on the topic");
    await loop.check();
    const second = loop.apply();
    assert.deepEqual(toldIn(second), ["PROMOTED: ordered by hand, without the gate"]);
    assert.deepEqual(writtenIn(second), ["models/0 a\u0000order deleted", "models/0 a v7"]);
  });

  test("and a training of the same model wait for each other", async (t) => {
    const { loop, answer } = await withPredecessor(t, {
      ...{ loop: { jitterMs: minuteMs }, random: () => 1, rules: { maxAgeMs: 1 } },
    });
    await loop.turn();
    assert.equal(loop.retrainer.status.waiting, 1);
    await layOrder(loop, { kind: "ROLL_BACK" });
    await loop.check(minuteMs);
    assert.deepEqual(loop.trained, [], "the order is being carried out");
    answer();
    await turns(5);
    assert.deepEqual(loop.trained, [], "it has not taken effect");
    loop.apply();
    await loop.check();
    assert.deepEqual(loop.trained, ["a"]);
  });

  test("that is refused leaves the training under way alone", async (t) => {
    const loop = await awaiting(t);
    await layOrder(loop, { kind: "ROLL_BACK" });
    assert.equal(eventsIn(loop.apply())[0].kind, "REFUSED");
    assert.deepEqual(
      [loop.lifecycle.life("a").phase, loop.lifecycle.life("a").requestId],
      ["training", "r1"],
    );
    await layOutcome(loop, "r1");
    assert.deepEqual(toldIn(loop.apply()), ["FAILED: too flat"]);
  });
});
