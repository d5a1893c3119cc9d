// One training thread that keeps its priority, behind the interface of the product's threads. It trains one task at a
// time, which is all that the bench asks for.

import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { ModelTrainer, TrainingResult } from "../../src/training/training-task.ts";

export function openNormalPriorityThread(): ModelTrainer {
  const entry = new URL("./normal-priority-entry.js", import.meta.url);
  const worker = new Worker(entry, { workerData: { kind: "simd" } });
  return {
    async train(tasks, signal) {
      const results: TrainingResult[] = [];
      const cancel = () => worker.postMessage("cancel");
      signal.addEventListener("abort", cancel);
      for (const task of tasks) {
        // Rejects when the thread ends by an error.
        const answered = once(worker, "message") as Promise<[TrainingResult]>;
        worker.postMessage(task);
        if (signal.aborted) cancel();
        results.push((await answered)[0]);
      }
      signal.removeEventListener("abort", cancel);
      return results;
    },
    async close() {
      await worker.terminate();
    },
  };
}
