// Waiting with an end: between tries, for a promise, for a signal.

import { setTimeout as delay } from "node:timers/promises";

const firstMs = 50;
const longestMs = 5_000;

/** Doubling pauses with jitter. Resolves after the pause of the given attempt (0 is the first), or at once
 * when the signal says that the wait has lost its purpose. */
export async function backoff(attempt: number, signal: AbortSignal): Promise<void> {
  const ceilingMs = Math.min(longestMs, firstMs * 2 ** attempt);
  const pauseMs = ceilingMs * (0.5 + 0.5 * Math.random());
  await delay(pauseMs, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

/** Whether the promise settles in time. */
export async function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

export function firesWithin(signal: AbortSignal, ms: number): Promise<boolean> {
  return signal.aborted ? Promise.resolve(true) : settlesWithin(fired(signal), ms);
}

/** Resolves when the signal fires. */
export function fired(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
