// The first file of an engine thread: gets its executor, says that it is ready, works until told to close. What is
// thrown here ends the thread, and its engine hears of it.

import { parentPort, workerData } from "node:worker_threads";
import { sharedPlan } from "../../models/forecastnet/shared-plan.ts";
import { forecastModels } from "../forecast-model.ts";
import { createExecutor } from "./create-executor.ts";
import type { ExecutorSetup, ToThread } from "./protocol.ts";
import { ThreadWork } from "./thread-work.ts";
import { createTraining } from "./training.ts";

const port = parentPort;
if (port === null) throw new Error("this file is the entry of a thread, not of a process");
const hosted = await createExecutor(workerData as ExecutorSetup);
const { executor, device, detail } = hosted;
const work = new ThreadWork({
  forecast: (tasks, options) => forecastModels(executor, tasks, options, hosted.summarise),
  train: (tasks) => createTraining(executor, tasks),
  differentiate: ({ spec, weights, rows }) =>
    executor.differentiate({ plan: sharedPlan(spec), weights }, rows),
  release: ({ members }) => {
    for (const { weights } of members) hosted.release?.(weights);
  },
  resident: () => hosted.resident?.() ?? null,
  post: (message, transfer) => port.postMessage(message, transfer),
  soon: (act) => void setImmediate(act),
  end: () => {
    executor.close();
    port.close();
  },
});
port.on("message", (message: ToThread) => work.handle(message));
port.postMessage({ kind: "ready", device, detail });
