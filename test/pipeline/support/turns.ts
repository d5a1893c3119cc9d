// Waiting in tests: turns of the event loop, without a clock.

import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";

/** Lets the event loop turn until the claim holds. */
export async function until(isSo: () => boolean, what: string, patienceMs = 30_000): Promise<void> {
  const deadlineMs = performance.now() + patienceMs;
  while (!isSo()) {
    assert.ok(
      performance.now() < deadlineMs,
      `waited ${patienceMs / 1000} s for ${what}, which did not happen`,
    );
    await setImmediate();
  }
}

export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await setImmediate();
}
