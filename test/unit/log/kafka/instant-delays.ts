// Makes the pauses of `node:timers/promises` instant, so that tests of retries need not wait. A hand-moved clock
// advances by each pause instead, so that time limits are still reached.

import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";

export interface InstantDelays {
  /** How long the pauses would have been, in order. */
  readonly pausesMs: readonly number[];
  readonly clock: { ms: number; nowMs(): number };
}

interface DelayOptions {
  readonly signal?: AbortSignal;
}

/** Lasts for the process; each test file has its own. */
export function makeDelaysInstant(): InstantDelays {
  const pausesMs: number[] = [];
  const clock = { ms: 1_700_000_000_000, nowMs: () => clock.ms };
  const delay = async <T>(ms: number, value: T, { signal }: DelayOptions = {}): Promise<T> => {
    if (signal?.aborted) throw signal.reason;
    pausesMs.push(ms);
    clock.ms += ms;
    await new Promise(setImmediate);
    if (signal?.aborted) throw signal.reason;
    return value;
  };
  Object.assign(timers, { setTimeout: delay });
  syncBuiltinESMExports();
  return { pausesMs, clock };
}

/** Enough turns of the event loop for all pending work to happen. */
export async function turns(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate);
}
