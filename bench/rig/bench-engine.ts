// An engine that trains as well: it forecasts on the product's engine threads, and fits every net on the next free thread of its
// own. A worker trains whole models on training threads; a bench trains single nets, and many of them at once.

import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { openThreadedEngine } from "../../src/engine/threads/threaded-engine.ts";
import { WorkQueue } from "../../src/engine/threads/work-queue.ts";
import type { Engine, FitResult, FitTask } from "../../src/models/forecastnet/engine.ts";

export async function openBenchEngine(threads: number): Promise<Engine> {
  const engine = await openThreadedEngine({ setup: { kind: "simd" }, threads });
  const workers: Worker[] = [];
  const queue = new WorkQueue<Worker>({
    perWorker: 1,
    addWorker: () => {
      if (workers.length >= threads) return null;
      const worker = new Worker(new URL("./fit-thread.js", import.meta.url));
      workers.push(worker);
      queue.include(worker);
      return worker;
    },
  });
  return {
    description: engine.description,
    status: () => engine.status(),
    forecast: (tasks, options) => engine.forecast(tasks, options),
    fit: (tasks) => Promise.all(tasks.map((task) => queue.add(1, (worker) => fitOn(worker, task)))),
    release: (model) => engine.release(model),
    close: async () => {
      for (const worker of workers) await worker.terminate();
      await engine.close();
    },
  };
}

async function fitOn(worker: Worker, task: FitTask): Promise<FitResult> {
  worker.postMessage(task);
  const [result] = (await once(worker, "message")) as [FitResult];
  return result;
}
