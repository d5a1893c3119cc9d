// Trains models on the calling thread, one task after another: for replays and tests, where the same history must give
// the same bytes. Training yields to the event loop between its steps. The caller closes the engine.

import type { Families } from "../models/families.ts";
import { trainTask } from "./train-task.ts";
import type { ModelTrainer, TrainingResult, TrainingTask } from "./training-task.ts";

export function createInProcessTrainer(families: Families): ModelTrainer {
  let last: Promise<unknown> = Promise.resolve();
  const trainInTurn = async (tasks: readonly TrainingTask[], signal: AbortSignal) => {
    const results: TrainingResult[] = [];
    for (const task of tasks) results.push(await trainTask(families, task, signal));
    return results;
  };
  return {
    train: (tasks, signal) => {
      const trained = last.then(() => trainInTurn(tasks, signal));
      last = trained.catch(() => undefined); // Met by the caller; the next training must not fail with it.
      return trained;
    },
    close: async () => {
      await last;
    },
  };
}
