import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BatchPacer } from "../../../../src/log/kafka/batch-pacer.ts";
import { meterBusyShare } from "../../../../src/runtime/clock.ts";

test("an idle worker waits for the interval, a busy one longer, and none for more than ten times as long", () => {
  const intervals = [0, 0.5, 0.8, 0.95, 1].map((share) => new BatchPacer(10, () => share).intervalMs);
  assert.deepEqual(intervals.map(Math.round), [10, 20, 50, 100, 100]);
});

test("without an interval no worker waits", () => {
  assert.equal(new BatchPacer(0, () => 1).intervalMs, 0);
});

test("the busy share follows what the event loop does", async () => {
  const busyShare = meterBusyShare();
  assert.equal(busyShare(), 0);
  await new Promise((resolve) => setTimeout(resolve, 150));
  assert.ok(busyShare() < 0.5, `an idle loop is busy for ${busyShare()} of the time`);
  const deadline = process.hrtime.bigint() + 150_000_000n;
  while (process.hrtime.bigint() < deadline);
  await new Promise(setImmediate);
  assert.ok(busyShare() > 0.5, `a loop that never rested is busy for ${busyShare()} of the time`);
});

describe("a pacer", () => {
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

  test("lets all partitions that have input in one turn form batches, and the others together after the interval", async (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const pacer = new BatchPacer(20, () => 0);
    const retried: string[] = [];
    const retryOf = (name: string) => () => void retried.push(name);
    assert.deepEqual([pacer.tryBegin(retryOf("a")), pacer.tryBegin(retryOf("b"))], [true, true]);
    await nextTurn();
    const [c, d] = [retryOf("c"), retryOf("d")];
    assert.deepEqual([pacer.tryBegin(c), pacer.tryBegin(d)], [false, false]);
    pacer.forget(d);
    context.mock.timers.tick(19);
    assert.deepEqual(retried, []);
    context.mock.timers.tick(1);
    assert.deepEqual(retried, ["c"]);
    assert.equal(pacer.tryBegin(c), true);
  });

  test("waits for the end of the shared transaction if that takes longer than the interval", async (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const pacer = new BatchPacer(20, () => 0);
    const retried: string[] = [];
    const retry = () => void retried.push("retried");
    pacer.tryBegin(retry);
    await nextTurn();
    pacer.began();
    assert.equal(pacer.tryBegin(retry), false);
    context.mock.timers.tick(1_000);
    assert.deepEqual(retried, []);
    pacer.ended();
    assert.deepEqual(retried, ["retried"]);
  });
});
