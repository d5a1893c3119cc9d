// The entry of a replay thread: replays what it is given, one task at a time, until told to close. An error of the configuration
// or of a series is answered; any other ends the thread, and its task fails.

import { parentPort } from "node:worker_threads";
import { toFailure } from "../engine/threads/job-thread.ts";
import { loadConfig } from "../runtime/config/load.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { fitOnce } from "./fit-once.ts";
import type { FromReplayThread, ReplayTask, ToReplayThread } from "./protocol.ts";
import { replaySystem } from "./replay-system.ts";

const port = parentPort;
if (port === null) throw new Error("this file is the entry of a thread, not of a process");
const post = (message: FromReplayThread) => port.postMessage(message);
let working: Promise<void> = Promise.resolve();
port.on("message", (message: ToReplayThread) => {
  if (message.kind === "close") void working.then(() => port.close());
  else working = working.then(() => answer(message.job, message.task));
});
post({ kind: "ready", facts: null });

async function answer(
  job: number,
  { protocol, config, series, testShare, resolutionMs, progress }: ReplayTask,
): Promise<void> {
  try {
    const run = protocol === "production" ? replaySystem : fitOnce;
    const result = await run(series, {
      config: loadConfig(config),
      testShare,
      resolutionMs,
      onProgress: (points) => {
        progress[0] = points;
      },
    });
    post({ kind: "done", job, result });
  } catch (error) {
    if (!(error instanceof ForecastnetError)) throw error;
    post({ kind: "failed", job, failure: toFailure(error) });
  }
}
