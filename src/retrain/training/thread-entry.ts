// The first file of a training thread: gets its engine, says that it is ready, trains until told to close. What is
// thrown here ends the thread, and its trainer hears of it.

import { parentPort, workerData } from "node:worker_threads";
import type { ExecutorSetup } from "../../engine/threads/protocol.ts";
import { sharedFloats } from "../../engine/threads/resident-models.ts";
import type { TrainedModel, TrainingResult } from "../training-task.ts";
import { lowerOwnPriority } from "./lower-priority.ts";
import { runStacked } from "./stacked-fits.ts";
import type { FromTrainingThread, ToTrainingThread } from "./thread-messages.ts";
import { trainTask } from "./train-task.ts";
import { createTrainingEngine } from "./training-engine.ts";

const port = parentPort;
if (port === null) throw new Error("this file is the entry of a thread, not of a process");
const post = (message: FromTrainingThread) => port.postMessage(message);
const engine = await createTrainingEngine(workerData as ExecutorSetup);
// Only now: threads that TensorFlow has started for itself serve forecasts, too.
lowerOwnPriority();
const stopByJob = new Map<number, AbortController>();
let isClosing = false;
port.on("message", (message: ToTrainingThread) => {
  switch (message.kind) {
    case "train":
      // A rejection nobody handles ends the thread: whatever broke may have spoilt the engine.
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
post({ kind: "ready" });

function endIfClosed(): void {
  if (!isClosing || stopByJob.size > 0) return;
  void engine.close();
  port?.close();
}

async function train({ job, tasks }: Extract<ToTrainingThread, { kind: "train" }>): Promise<void> {
  const stop = new AbortController();
  stopByJob.set(job, stop);
  const runs = tasks.map((task) => (stacked: typeof engine) => trainTask(stacked, task, stop.signal));
  const results = await runStacked(engine, runs, stop.signal);
  stopByJob.delete(job);
  post({ kind: "done", job, results: results.map(toShared) });
  endIfClosed();
}

function toShared(result: TrainingResult): TrainingResult {
  if (result.outcome !== "trained") return result;
  return { ...result, challengers: result.challengers.map(withSharedWeights) };
}

function withSharedWeights(trained: TrainedModel): TrainedModel {
  const members = trained.model.members.map((member) => ({
    ...member,
    weights: sharedFloats(member.weights),
  }));
  return { ...trained, model: { ...trained.model, members } };
}
