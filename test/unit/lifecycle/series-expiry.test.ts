import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { turns } from "../../pipeline/support/turns.ts";
import {
  decisionOf,
  encodeOrder,
  eventsIn,
  LifecycleFixture,
  orderOf,
  writtenIn,
} from "./lifecycle-fixture.ts";
import { LoopFixture, minuteMs, Trainings } from "./loop-fixture.ts";

/** A lifecycle that has read for long enough to sweep, with a series whose time is up and one whose time is not. */
async function openDesk() {
  const fixture = new LifecycleFixture();
  fixture.endMsById.set("a", fixture.now.ms);
  fixture.endMsById.set("b", fixture.now.ms + 60 * minuteMs);
  await fixture.lifecycle.expiry.sweep();
  fixture.now.ms += 5 * minuteMs;
  return fixture;
}

describe("a sweep", () => {
  test("ends the series whose time is up, with the next batch, and tells it once", async () => {
    const fixture = await openDesk();
    const { lifecycle } = fixture;
    let waits = 0;
    lifecycle.onDecided = () => waits++;
    await lifecycle.expiry.sweep();
    assert.deepEqual([lifecycle.isWaiting, waits], [true, 1]);
    const records = lifecycle.apply();
    assert.deepEqual(writtenIn(records), [
      "state/0 a#0 deleted",
      "state/0 a#1 deleted",
      "models/0 a deleted",
    ]);
    assert.deepEqual(
      eventsIn(records).map(({ modelKey, kind }) => `${modelKey} ${kind}`),
      ["a FORGOTTEN"],
    );
    assert.deepEqual(fixture.told, ["info: series forgotten"]);
    assert.equal(fixture.counts.of("forgot silent"), 0, "it is not committed yet");
    lifecycle.expiry.takeCount()();
    assert.deepEqual([fixture.counts.of("forgot silent"), lifecycle.isWaiting], [1, false]);
    assert.deepEqual(lifecycle.apply(), []);
  });

  test("comes no sooner than five minutes after the lane began, and once a minute then", async () => {
    const fixture = new LifecycleFixture();
    fixture.endMsById.set("a", fixture.now.ms);
    const { expiry } = fixture.lifecycle;
    for (let minute = 0; minute < 5; minute++) {
      await expiry.sweep();
      assert.equal(expiry.isWaiting, false, `after ${minute} minutes`);
      fixture.now.ms += minuteMs;
    }
    await expiry.sweep();
    assert.equal(expiry.isWaiting, true);
    fixture.lifecycle.apply();
    fixture.endMsById.set("c", fixture.now.ms);
    fixture.now.ms += minuteMs - 1;
    await expiry.sweep();
    assert.equal(expiry.isWaiting, false);
    fixture.now.ms++;
    await expiry.sweep();
    assert.equal(expiry.isWaiting, true);
  });

  test("waits until all input has been read, and until it is known how much there is", async () => {
    const fixture = await openDesk();
    const { expiry } = fixture.lifecycle;
    for (const unread of [null, 1]) {
      fixture.unread = unread;
      await expiry.sweep();
      assert.equal(expiry.isWaiting, false);
    }
    fixture.unread = 0;
    await expiry.sweep();
    assert.equal(expiry.isWaiting, true);
  });

  test("spares a series that has sent since", async () => {
    const fixture = await openDesk();
    await fixture.lifecycle.expiry.sweep();
    fixture.endMsById.set("a", fixture.now.ms + 1);
    assert.deepEqual(fixture.lifecycle.apply(), []);
    assert.deepEqual(fixture.told, []);
  });

  test("of a large fleet is cut into several transactions and told in one line", async () => {
    const fixture = await openDesk();
    for (let i = 0; i < 6_000; i++) fixture.endMsById.set(`s${i}`, fixture.now.ms);
    await fixture.lifecycle.expiry.sweep();
    const sizes: number[] = [];
    while (fixture.lifecycle.isWaiting) sizes.push(fixture.lifecycle.apply().length);
    assert.deepEqual(sizes, [10_000, 10_000, 4 * 6_001 - 20_000]);
    assert.deepEqual(fixture.told, ["info: series forgotten"]);
    fixture.lifecycle.expiry.takeCount()();
    assert.equal(fixture.counts.of("forgot silent"), 6_001);
  });
});

describe("a series that ends", () => {
  test("takes its scores, its model and what lies beside that along, and nothing that is decided brings them back", () => {
    const fixture = new LifecycleFixture();
    const { lifecycle } = fixture;
    fixture.serve("a", "v1");
    fixture.score("a", "v1", 1);
    fixture.endMsById.set("a", 0);
    lifecycle.orders.set("a", orderOf("a"));
    lifecycle.decide(decisionOf("confirmed", { modelKey: "a", fromVersion: "v1" }));
    lifecycle.expiry.order("a");
    const written = writtenIn(lifecycle.apply());
    assert.deepEqual(
      written.filter((line) => !line.includes("#f")),
      [
        ...["state/0 a#0 deleted", "state/0 a#1 deleted", "state/0 a#live deleted"],
        ...["models/0 a deleted", "models/0 a\u0000order deleted"],
      ],
    );
    assert.ok(written.some((line) => /^state\/0 a#f\d deleted$/.test(line)));
    assert.deepEqual([fixture.scoreStore.size, fixture.models.size, lifecycle.orders.size], [0, 0, 0]);
    assert.deepEqual(fixture.scoreStore.takeChanges(), []);
  });

  test("does so by an order on the topic, even a series that nobody has seen", () => {
    const { lifecycle } = new LifecycleFixture();
    const value = encodeOrder(orderOf("a", { kind: "FORGET" }));
    lifecycle.receive([{ key: Buffer.from("a\u0000order"), value }]);
    assert.equal(lifecycle.orders.size, 0);
    assert.deepEqual(writtenIn(lifecycle.apply()), ["models/0 a deleted", "models/0 a\u0000order deleted"]);
  });

  test("whose id looks like a cohort's name leaves that cohort's model alone", async () => {
    const fixture = await openDesk();
    fixture.serve("cohort:x", "v1");
    fixture.endMsById.set("cohort:x", fixture.now.ms);
    fixture.endMsById.delete("a");
    await fixture.lifecycle.expiry.sweep();
    assert.deepEqual(writtenIn(fixture.lifecycle.apply()), [
      "state/0 cohort:x#0 deleted",
      "state/0 cohort:x#1 deleted",
    ]);
    assert.equal(fixture.models.size, 1);
  });
});

describe("retraining", () => {
  test("drops what comes of a training whose series has ended meanwhile", async (t) => {
    const trainings = new Trainings();
    const loop = await LoopFixture.openFor(t, { script: trainings.script });
    loop.addCold({ a: 1 });
    await loop.turn();
    loop.apply();
    loop.lifecycle.lifecycle.expiry.order("a");
    loop.apply();
    await trainings.end("a");
    assert.deepEqual([loop.trained, loop.apply(), loop.lifecycle.scoreStore.size], [["a"], [], 0]);
  });

  test("does not begin what was planned for a series that has ended", async (t) => {
    const loop = await LoopFixture.openFor(t, { loop: { jitterMs: 10 * minuteMs }, random: () => 0.5 });
    loop.addCold({ a: 1, b: 2 });
    await loop.turn();
    loop.lifecycle.lifecycle.expiry.order("a");
    loop.apply();
    await loop.check(6 * minuteMs);
    await turns(5);
    assert.deepEqual(loop.trained, ["b"]);
    assert.equal(loop.lifecycle.scoreStore.get("a"), undefined);
  });
});
