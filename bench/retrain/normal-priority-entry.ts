// The entry of a training thread that keeps its priority: what a training beside forecasts would be if it did not
// stand back. All else is done as the product's own thread does it.

import { parentPort, workerData } from "node:worker_threads";
import { openInProcessEngine } from "../../src/engine/in-process-engine.ts";
import type { ExecutorSetup } from "../../src/engine/threads/protocol.ts";
import { createFamilies } from "../../src/models/families.ts";
import { trainTask } from "../../src/training/train-task.ts";
import type { TrainingTask } from "../../src/training/training-task.ts";

const port = parentPort;
if (port === null) throw new Error("this file is the entry of a thread, not of a process");
const engine = await openInProcessEngine(workerData as ExecutorSetup);
const families = createFamilies(engine);
let stop = new AbortController();
port.on("message", async (message: TrainingTask | "cancel") => {
  if (message === "cancel") {
    stop.abort();
    return;
  }
  stop = new AbortController();
  port.postMessage(await trainTask(families, message, stop.signal));
});
