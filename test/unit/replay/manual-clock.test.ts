import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { ManualClock } from "../../../src/replay/manual-clock.ts";

/** A clock at 1,000 ms, and the times at which its timers fired. */
function clockWithRecord() {
  const clock = new ManualClock(1_000);
  const fired: string[] = [];
  const note = (name: string) => () => void fired.push(`${name} at ${clock.nowMs()}`);
  return { clock, fired, note };
}

describe("a manual clock", () => {
  test("stands still until it is moved, and never goes back", async () => {
    const { clock } = clockWithRecord();
    await setImmediate();
    assert.equal(clock.nowMs(), 1_000);
    clock.moveTo(3_000);
    clock.moveTo(2_000);
    assert.equal(clock.nowMs(), 3_000);
  });

  test("fires timers in time order, each at its own time, and equal times in the order in which they were set", () => {
    const { clock, fired, note } = clockWithRecord();
    clock.after(300, note("late"));
    clock.after(100, note("first"));
    clock.after(100, note("second"));
    clock.after(301, note("too late"));
    clock.moveBy(300);
    assert.deepEqual(fired, ["first at 1100", "second at 1100", "late at 1300"]);
  });

  test("fires a timer that another one has set, if it is due within the same move", () => {
    const { clock, fired, note } = clockWithRecord();
    clock.after(100, () => void clock.after(100, note("inner")));
    clock.moveBy(1_000);
    assert.deepEqual(fired, ["inner at 1200"]);
  });

  test("fires a repeating timer once per move, on its beat", () => {
    const { clock, fired, note } = clockWithRecord();
    const cancel = clock.every(100, note("beat"));
    for (const ms of [99, 1, 50, 1_000, 50]) clock.moveBy(ms);
    cancel();
    clock.moveBy(1_000);
    assert.deepEqual(fired, ["beat at 1100", "beat at 1200", "beat at 2200"]);
  });

  test("does not fire a timer that was cancelled", () => {
    const { clock, fired, note } = clockWithRecord();
    const cancel = clock.after(100, note("cancelled"));
    clock.after(200, note("kept"));
    cancel();
    clock.moveBy(500);
    cancel();
    assert.deepEqual(fired, ["kept at 1200"]);
  });

  test("fires a timer without delay in the next turn of the event loop, without a move", async () => {
    const { clock, fired, note } = clockWithRecord();
    clock.after(0, note("at once"));
    clock.after(0, note("never"))();
    assert.deepEqual(fired, []);
    await setImmediate();
    assert.deepEqual(fired, ["at once at 1000"]);
  });

  test("moves timer by timer for a caller that lets the consequences happen in between", async () => {
    const { clock, fired, note } = clockWithRecord();
    clock.after(100, () => void Promise.resolve().then(() => clock.after(50, note("consequence"))));
    clock.after(200, note("next"));
    while (clock.step(1_500)) await setImmediate();
    assert.deepEqual(fired, ["consequence at 1150", "next at 1200"]);
    assert.equal(clock.nowMs(), 1_500);
  });
});

describe("a sleep on a manual clock", () => {
  test("ends when its time has come", async () => {
    const { clock } = clockWithRecord();
    const { signal } = new AbortController();
    const slept = clock.sleep(100, signal);
    clock.moveBy(100);
    await slept;
    assert.equal(getEventListeners(signal, "abort").length, 0, "no listener is left behind");
  });

  test("ends as soon as its signal fires, and at once if it has fired", async () => {
    const { clock } = clockWithRecord();
    const stop = new AbortController();
    const slept = clock.sleep(100, stop.signal);
    stop.abort();
    await slept;
    await clock.sleep(100, stop.signal);
    assert.equal(clock.nowMs(), 1_000);
  });
});
