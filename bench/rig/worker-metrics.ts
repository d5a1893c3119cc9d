// What a worker says about itself on its metrics page.

import type { WorkerProcess } from "./worker-process.ts";

export interface WorkerMetrics {
  /** The sum of all values of a metric, over those of its labels that contain `labels`; 0 without any. */
  of(metric: string, labels?: string): number;
}

export async function metricsOf(worker: WorkerProcess): Promise<WorkerMetrics> {
  const [{ port }] = await worker.logged("http listening");
  const page = await fetch(`http://127.0.0.1:${port}/metrics`).catch((error: unknown) => {
    throw new Error(`the worker did not answer: ${worker.lastLine}`, { cause: error });
  });
  const lines = (await page.text()).split("\n");
  return {
    of: (metric, labels = "") =>
      lines
        .filter((line) => line.startsWith(`${metric} `) || line.startsWith(`${metric}{`))
        .filter((line) => line.includes(labels))
        .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0),
  };
}

/** How long the event loop was away at most since the last call, in ms. */
export async function longestTurnMs(worker: WorkerProcess): Promise<number> {
  return 1000 * (await metricsOf(worker)).of("nodejs_eventloop_lag_max_seconds");
}
