// The engine inside a training thread: all arithmetic is done on that very thread.

import { forecastModels } from "../engine/forecast-model.ts";
import { createInProcessEngine } from "../engine/in-process-engine.ts";
import { createExecutor } from "../engine/threads/create-executor.ts";
import type { ExecutorSetup } from "../engine/threads/protocol.ts";
import type { Engine } from "../models/forecastnet/engine.ts";

export async function createTrainingEngine(setup: ExecutorSetup): Promise<Engine> {
  const { executor, device, detail, summarise, release } = await createExecutor(setup);
  return {
    ...createInProcessEngine(executor, { name: setup.kind, device, threads: 1, detail }),
    forecast: async (tasks, options) => forecastModels(executor, tasks, options, summarise),
    release: ({ members }) => {
      for (const { weights } of members) release?.(weights);
    },
  };
}
