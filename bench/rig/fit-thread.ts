// A thread of the bench's engine: fits one net after the other.

import { parentPort } from "node:worker_threads";
import { openInProcessEngine } from "../../src/engine/in-process-engine.ts";
import type { FitTask } from "../../src/models/forecastnet/engine.ts";

const engine = await openInProcessEngine({ kind: "simd" });
parentPort?.on("message", async (task: FitTask) => {
  const [result] = await engine.fit([task]);
  parentPort?.postMessage(result);
});
