// Waiting for a real process: looks again and again, with a deadline far beyond what a quiet machine needs.

import { setTimeout as pause } from "node:timers/promises";

const lookAgainMs = 25;

/** Resolves with how long it took; fails, naming what it waited for, when the claim never holds. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  deadlineMs = 60_000,
): Promise<number> {
  const startedMs = performance.now();
  while (!(await isSo())) {
    if (performance.now() - startedMs > deadlineMs) {
      throw new Error(`waited ${deadlineMs} ms in vain for ${what}`);
    }
    await pause(lookAgainMs);
  }
  return performance.now() - startedMs;
}
