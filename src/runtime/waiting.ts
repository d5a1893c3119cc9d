// Waiting with an end: between attempts, for a promise, for a signal, for a turn of the event loop.

import { systemClock, type Timers } from "./clock.ts";

const firstMs = 50;
const longestMs = 5_000;

interface BackoffSource {
  readonly clock?: Timers;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
}

/** Pauses before the next attempt: doubling, with jitter. `attempt` 0 is the first. Ends early when the signal fires. */
export async function backoff(
  attempt: number,
  signal: AbortSignal,
  { clock = systemClock, random = Math.random }: BackoffSource = {},
): Promise<void> {
  const ceilingMs = Math.min(longestMs, firstMs * 2 ** attempt);
  await clock.sleep(ceilingMs * (0.5 + 0.5 * random()), signal);
}

/** Whether the promise settles in time. Rejects when the promise does. */
export async function settlesWithin(
  promise: Promise<unknown>,
  ms: number,
  clock: Timers = systemClock,
): Promise<boolean> {
  let cancel = () => {};
  const late = new Promise<boolean>((resolve) => {
    cancel = clock.after(ms, () => resolve(false));
  });
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    cancel();
  }
}

export async function firesWithin(signal: AbortSignal, ms: number): Promise<boolean> {
  if (signal.aborted) return true;
  const over = new AbortController();
  try {
    return await settlesWithin(fired(signal, over.signal), ms);
  } finally {
    over.abort();
  }
}

/** Resolves when the promise does or the signal fires, and leaves no listener behind on the signal. */
export async function untilFired(promise: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  try {
    await Promise.race([promise, fired(signal, over.signal)]);
  } finally {
    over.abort();
  }
}

/** Resolves when the signal fires; stops listening once `over` fires. */
export function fired(signal: AbortSignal, over?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true, ...(over && { signal: over }) });
  });
}

export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
