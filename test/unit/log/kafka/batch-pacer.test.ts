import assert from "node:assert/strict";
import { test } from "node:test";
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
