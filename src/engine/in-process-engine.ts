// An engine on the calling thread, for training threads and tests. A forecast blocks the event loop until it is done;
// training yields to it after every step.

import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type {
  Engine,
  EngineDescription,
  EngineStatus,
  FitResult,
  FitTask,
} from "../models/forecastnet/engine.ts";
import type { NetExecutor } from "./executor.ts";
import { type Fitting, fitNets, groupByPlan } from "./fit.ts";
import { forecastModels } from "./forecast-model.ts";
import { createExecutor } from "./threads/create-executor.ts";
import type { ExecutorSetup } from "./threads/protocol.ts";

const idle: EngineStatus = {
  trouble: null,
  residentModels: 0,
  residentBytes: 0,
  waitingForecasts: 0,
};

export async function openInProcessEngine(setup: ExecutorSetup): Promise<Engine> {
  const { executor, device, detail, summarise, release } = await createExecutor(setup);
  return {
    ...createInProcessEngine(executor, { name: setup.kind, device, threads: 1, detail }),
    forecast: async (tasks, options) => forecastModels(executor, tasks, options, summarise),
    release: ({ members }) => {
      for (const { weights } of members) release?.(weights);
    },
  };
}

export function createInProcessEngine(executor: NetExecutor, description: EngineDescription): Engine {
  return {
    description,
    status: () => idle,
    forecast: async (tasks, options) => forecastModels(executor, tasks, options),
    fit: (tasks, signal) => fitByPlan(executor, tasks, signal),
    // The engine holds nothing per model.
    release: () => undefined,
    close: async () => executor.close(),
  };
}

/** Trains the nets of one plan in one session, plan after plan. */
async function fitByPlan(
  executor: NetExecutor,
  tasks: readonly FitTask[],
  signal?: AbortSignal,
): Promise<readonly FitResult[]> {
  const results = new Array<FitResult>(tasks.length);
  for (const indices of groupByPlan(tasks)) {
    const group = indices.map((index) => tasks[index]);
    const fitted = await driveFit(fitNets(executor, group), signal);
    for (const [i, result] of fitted.entries()) results[indices[i]] = result;
  }
  return results;
}

async function driveFit(fitting: Fitting, signal?: AbortSignal): Promise<readonly FitResult[]> {
  for (;;) {
    const { done, value } = fitting.next(signal?.aborted ? "cancel" : undefined);
    if (done) return value;
    await yieldToEventLoop();
  }
}
