// The entry of an engine thread: creates its executor, reports that it is ready, and works until it is told to close.
// An exception here ends the thread, which its engine notices.

import { parentPort, workerData } from "node:worker_threads";
import { forecastModels } from "../forecast-model.ts";
import { createExecutor } from "./create-executor.ts";
import type { ExecutorSetup, ToThread } from "./protocol.ts";
import { ThreadWork } from "./thread-work.ts";

const port = parentPort;
if (port === null) throw new Error("this file is the entry of a thread, not of a process");
const hosted = await createExecutor(workerData as ExecutorSetup);
const { executor, device, detail } = hosted;
const work = new ThreadWork({
  forecast: (tasks, options) => forecastModels(executor, tasks, options, hosted.summarise),
  release: ({ members }) => {
    for (const { weights } of members) hosted.release?.(weights);
  },
  resident: () => hosted.resident?.() ?? null,
  post: (message, transfer) => port.postMessage(message, transfer),
  end: () => {
    executor.close();
    port.close();
  },
});
port.on("message", (message: ToThread) => work.handle(message));
port.postMessage({ kind: "ready", facts: { device, detail } });
