import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { type TestContext, test } from "node:test";
import { backoff, fired, firesWithin, settlesWithin, untilFired } from "../../../src/runtime/waiting.ts";

const never = new Promise<never>(() => {});

test("settlesWithin tells in time from too late, and passes a failure on", async (t: TestContext) => {
  assert.equal(await settlesWithin(Promise.resolve("x"), 1_000), true);
  await assert.rejects(settlesWithin(Promise.reject(new Error("broken")), 1_000), /broken/);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const late = settlesWithin(never, 30_000);
  t.mock.timers.tick(29_999);
  assert.equal(await Promise.race([late, Promise.resolve("waiting")]), "waiting");
  t.mock.timers.tick(1);
  assert.equal(await late, false);
});

test("settlesWithin leaves no timer behind that would keep the process alive", async () => {
  const timersBefore = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  await settlesWithin(Promise.resolve(), 60_000);
  const timersAfter = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  assert.equal(timersAfter, timersBefore);
});

test("fired and firesWithin hear a signal, also one that fired before they asked", async () => {
  const controller = new AbortController();
  const heard = Promise.all([fired(controller.signal), firesWithin(controller.signal, 1_000)]);
  controller.abort();
  assert.deepEqual(await heard, [undefined, true]);
  await fired(controller.signal);
  assert.equal(await firesWithin(controller.signal, 0), true);
  assert.equal(await firesWithin(new AbortController().signal, 1), false);
});

test("who waits for a signal, or for something else first, leaves no listener behind", async () => {
  const { signal } = new AbortController();
  await untilFired(Promise.resolve(), signal);
  await assert.rejects(untilFired(Promise.reject(new Error("broken")), signal), /broken/);
  await firesWithin(signal, 1);
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

test("backoff ends at once when its signal fires, before or during the pause", {
  timeout: 5_000,
}, async () => {
  const controller = new AbortController();
  const pause = backoff(50, controller.signal); // would be seconds
  controller.abort();
  await pause;
  await backoff(50, controller.signal);
});
