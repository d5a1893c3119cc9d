// What is trained, when, and how much of it at once.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { History } from "../../../src/domain.ts";
import { toModelRecord } from "../../../src/log/codec/model-record.ts";
import { storedFamilies } from "../../../src/models/families.ts";
import { trainTask } from "../../../src/training/train-task.ts";
import { hang, type Script } from "../../pipeline/support/scripted-trainer.ts";
import { turns } from "../../pipeline/support/turns.ts";
import { trainingTask } from "../../rig/training-task.ts";
import { dawnMs, eventsIn, hourMs, orderOf } from "./lifecycle-fixture.ts";
import { gatherInVain, LoopFixture, minuteMs, Trainings } from "./loop-fixture.ts";

const kindsOf = (records: Parameters<typeof eventsIn>[0]) =>
  eventsIn(records).map(({ modelKey, kind }) => `${modelKey} ${kind}`);

describe("a turn of the schedule", () => {
  test("begins the trainings that are needed most, no more than it may", async (t) => {
    const loop = await LoopFixture.openFor(t, { loop: { perCycle: 3 } });
    loop.addCold({ a: 1, b: 5, c: 3, d: 2, e: 4 });
    await loop.check();
    assert.deepEqual(loop.trained, [], "its time has not come");
    await loop.turn();
    assert.deepEqual(loop.trained, ["b", "e", "c"]);
    assert.deepEqual(kindsOf(loop.apply()), [
      ...["b REQUESTED", "e REQUESTED", "c REQUESTED", "b FAILED", "e FAILED", "c FAILED"],
    ]);
    assert.equal(loop.counts.of("evaluated 5 needs 5"), 1);
    await loop.turn();
    assert.deepEqual(loop.trained.slice(3), ["d", "a"], "those that failed rest");
  });

  test("looks at the series of all lanes", async (t) => {
    const loop = await LoopFixture.openFor(t);
    loop.addCold({ a: 1 });
    loop.addCold({ b: 2 }, loop.addPartition());
    await loop.turn();
    assert.deepEqual(loop.trained, ["b", "a"]);
    assert.deepEqual(kindsOf(loop.lifecycles[1].lifecycle.apply()), ["b REQUESTED", "b FAILED"]);
  });

  test("that was missed is made up for once", async (t) => {
    const loop = await LoopFixture.openFor(t, { loop: { perCycle: 1 } });
    loop.addCold({ a: 1, b: 2 });
    await loop.check(1_000 * minuteMs);
    await loop.check();
    assert.deepEqual([loop.trained, loop.counts.byName.get("evaluated 2 needs 2")], [["b"], 1]);
  });

  test("says of models that they are stale, or fit again, before anything else is decided about them", async (t) => {
    const loop = await LoopFixture.openFor(t);
    const { lifecycle } = loop;
    for (const [id, phase, mase] of [
      ["stale", "champion", 3],
      ["fit", "champion", 0.5],
      ["better", "drifting", 0.5],
      ["still stale", "drifting", 3],
    ] as const) {
      lifecycle.place(id);
      lifecycle.serve(id, "v1");
      lifecycle.score(id, "v1", mase);
      lifecycle.live(id, { phase, driftSinceMs: phase === "drifting" ? dawnMs + 45 * hourMs : null });
    }
    await loop.turn();
    assert.deepEqual(loop.trained, [], "there is too little of the new kind to learn from");
    await loop.turn(); // Nothing is decided twice.
    assert.deepEqual(kindsOf(loop.apply()), ["stale DRIFTED", "better RECOVERED"]);
    const { phase, driftSinceMs } = lifecycle.life("stale");
    assert.deepEqual([phase, driftSinceMs], ["drifting", dawnMs + (50 - 3) * hourMs]);
    lifecycle.place("stale", 50 + 9, 60);
    await loop.turn();
    assert.deepEqual(loop.trained, ["stale"]);
  });
});

describe("an upgrade of a linear model", () => {
  /** Whatever is asked for, a linear model is the best on the folds. */
  const linearWins: Script = (task, signal) =>
    trainTask(storedFamilies, { ...task, plan: { ...task.plan, family: "linear" } }, signal);
  const rules = { firstFamily: "linear", bestFamily: "ensemble", refreshSteps: 100 };

  async function open(t: TestContext, leastGain: number): Promise<LoopFixture> {
    const loop = await LoopFixture.openFor(t, {
      rules,
      script: linearWins,
      loop: { perCycle: 1, leastGain },
    });
    for (const modelKey of ["a", "b"]) {
      loop.lifecycle.place(modelKey);
      const histories = [loop.lifecycle.histories.get(modelKey) as History];
      const task = trainingTask({ modelKey, histories });
      const result = await linearWins(task, new AbortController().signal);
      assert.ok(result.outcome === "trained", JSON.stringify(result));
      const facts = { requestId: null, trainedAtMs: dawnMs };
      const record = toModelRecord(result.challengers[0], facts, storedFamilies);
      assert.equal(loop.lifecycle.models.put(record), null);
      loop.lifecycle.live(modelKey, { phase: "champion" });
    }
    return loop;
  }

  async function turn(loop: LoopFixture): Promise<void> {
    await loop.turn();
    await loop.retrainer.settled();
    loop.apply();
  }

  test("in which a linear model wins on the folds tells that nets gain nothing on such series", async (t) => {
    // Five percent are expected at first, and less after one training that gained nothing.
    const loop = await open(t, 0.04);
    await turn(loop);
    assert.deepEqual(loop.trained, ["a"]);
    await turn(loop);
    assert.deepEqual(loop.trained, ["a"], "the other is of the same kind");
  });

  test("is tried as long as enough gain is expected", async (t) => {
    const loop = await open(t, 0.03);
    await turn(loop);
    await turn(loop);
    assert.deepEqual(loop.trained, ["a", "b"]);
  });
});

test("trainings wait while the budget of processor time is used up, and go on when it has refilled", async (t) => {
  const costly: Script = () => ({ outcome: "failed", reason: "too flat", cpuSeconds: 90 });
  const loop = await LoopFixture.openFor(t, {
    script: costly,
    loop: { inFlight: 1, cpuSecondsPerHour: 60 },
  });
  loop.addCold({ a: 2, b: 1 });
  await loop.turn();
  assert.deepEqual(loop.trained, ["a"]);
  assert.ok((loop.retrainer.status.budgetSeconds ?? 0) < 0, "the first training took more than there was");
  for (let turn = 0; turn < 8; turn++) await loop.turn(); // Five minutes each.
  assert.deepEqual(loop.trained, ["a", "b"]);
});

describe("trainings under way", () => {
  test("are never more than may be; whoever waits follows when one has ended", async (t) => {
    const trainings = new Trainings();
    const loop = await LoopFixture.openFor(t, { script: trainings.script, loop: { inFlight: 2 } });
    loop.addCold({ a: 4, b: 3, c: 2, d: 1 });
    await loop.turn();
    assert.deepEqual(
      [loop.trained, loop.retrainer.status],
      [["a", "b"], { inFlight: 2, waiting: 2, budgetSeconds: null }],
    );
    await loop.turn();
    assert.deepEqual(
      loop.retrainer.status,
      { inFlight: 2, waiting: 2, budgetSeconds: null },
      "those that wait are not added twice",
    );
    await trainings.end("b");
    assert.deepEqual(
      [loop.trained, loop.retrainer.status],
      [["a", "b", "c"], { inFlight: 2, waiting: 1, budgetSeconds: null }],
    );
    for (const key of ["a", "c", "d"]) await trainings.end(key);
    assert.deepEqual(
      [loop.trained.length, loop.retrainer.status],
      [4, { inFlight: 0, waiting: 0, budgetSeconds: null }],
    );
  });

  test("count from the moment their histories are gathered", async (t) => {
    const names = ["p", "q", "r"];
    const gather = t.mock.fn(gatherInVain);
    const loop = await LoopFixture.openFor(t, { cohorts: names, gather, loop: { inFlight: 2 } });
    for (let i = 0; i < 2; i++) loop.addPartition();
    await loop.turn();
    await loop.check();
    await loop.check();
    assert.deepEqual([gather.mock.callCount(), loop.retrainer.status.inFlight], [2, 2]);
  });

  test("are not begun again while they last", async (t) => {
    const loop = await LoopFixture.openFor(t, { script: hang });
    loop.addCold({ a: 1 });
    for (let i = 0; i < 3; i++) {
      await loop.turn();
      assert.deepEqual(kindsOf(loop.apply()), i === 0 ? ["a REQUESTED"] : []);
    }
    assert.deepEqual(loop.trained, ["a"]);
    assert.equal(loop.lifecycle.life("a").phase, "training");
  });

  test("are cancelled when the lane is lost, and so is what had not begun", async (t) => {
    const loop = await LoopFixture.openFor(t, { script: hang, loop: { inFlight: 1 } });
    loop.addCold({ a: 2, b: 1 });
    await loop.turn();
    loop.apply();
    loop.lifecycle.lost.abort();
    loop.lifecycles.splice(0);
    await turns(5);
    assert.deepEqual(
      [loop.trained, loop.retrainer.status],
      [["a"], { inFlight: 0, waiting: 0, budgetSeconds: null }],
    );
    assert.equal(loop.counts.of("trained cancelled"), 1);
    assert.equal(loop.counts.of("failed"), 0);
  });

  test("are cancelled when the loop stops; from then on nothing happens", async (t) => {
    const loop = await LoopFixture.openFor(t, { script: hang, loop: { inFlight: 1 } });
    loop.addCold({ a: 2, b: 1 });
    await loop.turn();
    await loop.retrainer.stop();
    assert.equal(loop.counts.of("trained cancelled"), 1);
    await loop.turn();
    assert.deepEqual(loop.trained, ["a"]);
    assert.deepEqual(kindsOf(loop.apply()), ["a REQUESTED"], "whose end the next worker tells");
  });

  test("whose histories are still being gathered when the loop stops have not failed", async (t) => {
    const loop = await LoopFixture.openFor(t, { cohorts: ["p"], gather: gatherInVain, partitions: 1 });
    await loop.turn();
    assert.equal(loop.retrainer.status.inFlight, 1);
    await loop.retrainer.stop();
    assert.equal(loop.counts.of("failed"), 0);
  });
});

test("a series that is forgotten while its training is prepared is not asked for", async (t) => {
  for (const where of ["worker", "trainers"] as const) {
    const loop = await LoopFixture.openFor(t, { loop: { where } });
    const { lifecycle, scoreStore, histories } = loop.lifecycle;
    loop.addCold({ a: 1 });
    t.mock.method(histories, "get", () => {
      const history = Map.prototype.get.call(histories, "a");
      queueMicrotask(() => {
        lifecycle.expiry.order("a");
        lifecycle.apply();
      });
      return history;
    });
    await loop.turn();
    assert.deepEqual([kindsOf(loop.apply()), loop.trained, scoreStore.size], [[], [], 0], where);
  }
});

describe("jitter", () => {
  test("puts a training off, for each another time, and is not waited for by those asked for by hand", async (t) => {
    const shares = [0.5, 0.1];
    const random = () => shares.shift() ?? 0.9;
    const loop = await LoopFixture.openFor(t, { random, loop: { jitterMs: 4 * minuteMs } });
    loop.addCold({ a: 2, b: 1 });
    await loop.turn();
    assert.deepEqual(loop.trained, []);
    await loop.check(minuteMs);
    assert.deepEqual(loop.trained, ["b"]);
    loop.lifecycle.lifecycle.accept(orderOf("a", { kind: "RETRAIN" }));
    await turns(5);
    assert.deepEqual(loop.trained, ["b", "a"]);
    await loop.check(2 * minuteMs);
    assert.deepEqual(loop.trained, ["b", "a"], "what was planned before gave way to it");
  });
});

describe("a training that nobody will end", () => {
  test("because the worker before is gone is given up at the first turn", async (t) => {
    const loop = await LoopFixture.openFor(t);
    loop.lifecycle.place("a");
    loop.lifecycle.live("a", { phase: "training", requestId: "r0" });
    await loop.turn();
    const [{ kind, reason }] = eventsIn(loop.apply());
    assert.deepEqual([kind, reason], ["FAILED", "the worker that trained it is gone"]);
    assert.deepEqual([loop.lifecycle.life("a").phase, loop.lifecycle.life("a").requestId], ["cold", null]);
    assert.deepEqual(loop.trained, [], "it rests first");
  });

  test("because no trainer answers is given up when its time is up, and not before", async (t) => {
    const loop = await LoopFixture.openFor(t, { loop: { where: "trainers", timeoutMs: 30 * minuteMs } });
    loop.lifecycle.place("a");
    loop.lifecycle.live("a", { phase: "training", requestId: "r0", sinceMs: dawnMs });
    await loop.check(30 * minuteMs);
    assert.deepEqual(loop.apply(), []);
    await loop.turn();
    const [{ kind, reason }] = eventsIn(loop.apply());
    assert.deepEqual([kind, reason], ["FAILED", "no trainer has answered in time"]);
  });

  test("of a cohort is given up as well", async (t) => {
    const loop = await LoopFixture.openFor(t);
    loop.lifecycle.live("cohort:p", { phase: "training", requestId: "r0" });
    await loop.turn();
    assert.deepEqual(kindsOf(loop.apply()), ["cohort:p FAILED"]);
  });
});

test("a series with too little to learn from is looked at again after a while, without a word", async (t) => {
  const gather = t.mock.fn(async () => []);
  const loop = await LoopFixture.openFor(t, { cohorts: ["p"], gather, partitions: 1 });
  for (const [turn, expected] of [1, 1, 1, 2].entries()) {
    await loop.turn();
    assert.equal(gather.mock.callCount(), expected, `after turn ${turn + 1}`);
  }
  assert.deepEqual(loop.apply(), []);
});
