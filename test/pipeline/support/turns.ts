// Waiting in tests: for turns of the event loop, never for time.

import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";

/** Lets the event loop turn until the claim holds. */
export async function until(isSo: () => boolean, what: string): Promise<void> {
  const deadlineMs = performance.now() + 5_000;
  while (!isSo()) {
    assert.ok(performance.now() < deadlineMs, `waited 5 s in vain for ${what}`);
    await setImmediate();
  }
}

export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await setImmediate();
}
