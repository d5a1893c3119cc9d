// The entry of a training thread: opens its engine, reports that it is ready, trains until told to close. It lowers its own
// priority, so that training yields to forecasting. An exception ends the thread, and its jobs fail.

import { constants, platform, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { openInProcessEngine } from "../engine/in-process-engine.ts";
import type { ExecutorSetup } from "../engine/threads/protocol.ts";
import { createFamilies } from "../models/families.ts";
import { runStacked } from "../models/forecastnet/training/stacked-fits.ts";
import { trainTask } from "./train-task.ts";
import type { FromTrainingThread, ToTrainingThread } from "./training-threads.ts";

const port = parentPort;
if (port === null) throw new Error("this file is the entry of a thread, not of a process");
const post = (message: FromTrainingThread) => port.postMessage(message);
const engine = await openInProcessEngine(workerData as ExecutorSetup);
// Only now: threads that TensorFlow has started serve forecasts, too, and keep their priority.
lowerOwnPriority();
const stopByJob = new Map<number, AbortController>();
let isClosing = false;
port.on("message", (message: ToTrainingThread) => {
  switch (message.kind) {
    case "train":
      // An unhandled rejection ends the thread: the engine may be in an undefined state.
      void train(message);
      return;
    case "cancel":
      stopByJob.get(message.job)?.abort();
      return;
    case "close":
      isClosing = true;
      for (const stop of stopByJob.values()) stop.abort();
      endIfClosed();
  }
});
post({ kind: "ready", facts: null });

function endIfClosed(): void {
  if (!isClosing || stopByJob.size > 0) return;
  void engine.close();
  port?.close();
}

async function train({ job, tasks }: Extract<ToTrainingThread, { kind: "train" }>): Promise<void> {
  const stop = new AbortController();
  stopByJob.set(job, stop);
  const runs = tasks.map(
    (task) => (stacked: typeof engine) => trainTask(createFamilies(stacked), task, stop.signal),
  );
  const result = await runStacked(engine, runs, stop.signal);
  stopByJob.delete(job);
  post({ kind: "done", job, result });
  endIfClosed();
}

/**
 * On Linux priorities belong to threads, and 0 is the calling thread. Elsewhere 0 is the whole process, and forecasting would
 * be lowered with the training: there the thread keeps its priority.
 */
function lowerOwnPriority(): void {
  if (platform() === "linux") setPriority(0, constants.priority.PRIORITY_LOW);
}
