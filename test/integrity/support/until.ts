// Waiting for a real process: looks again and again, with a deadline far beyond what a quiet machine needs.

import { setTimeout as pause } from "node:timers/promises";
import type { WorkerProcess } from "../../rig/worker-process.ts";

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
      throw new Error(`waited ${deadlineMs} ms for ${what}, which did not happen`);
    }
    await pause(lookAgainMs);
  }
  return performance.now() - startedMs;
}

/**
 * Resolves once the worker counts exactly this. A worker counts a batch after its commit, so a reader of the log can be
 * ahead of the worker's metrics.
 */
export async function untilCounted(
  worker: WorkerProcess,
  metric: string,
  expected: number,
  labels = "",
): Promise<void> {
  let counted: number | null = null;
  const isSo = async () => {
    counted = await worker.metric(metric, labels);
    return counted === expected;
  };
  await until(`${metric}{${labels}}`, isSo, 20_000).catch((cause) => {
    throw new Error(`${metric}{${labels}} of ${worker.name} is ${counted}, expected ${expected}`, { cause });
  });
}
