// An engine on the calling thread: what the reference runs on in tests, and what is left where no threads are to be
// had. A forecast blocks the event loop for as long as it takes; training lets go of it after every step.

import type { NetPlan } from "../models/forecastnet/plan.ts";
import { sharedPlan } from "../models/forecastnet/shared-plan.ts";
import { driveFit } from "./drive-fit.ts";
import type { Engine, EngineDescription, EngineStatus, FitControl, FitResult, FitTask } from "./engine.ts";
import type { NetExecutor } from "./executor.ts";
import { fitNets } from "./fit.ts";
import { forecastModels } from "./forecast-model.ts";

const idle: EngineStatus = {
  trouble: null,
  residentModels: 0,
  residentBytes: 0,
  waitingForecasts: 0,
  waitingFits: 0,
};

export function createInProcessEngine(executor: NetExecutor, description: EngineDescription): Engine {
  return {
    description,
    status: () => idle,
    forecast: async (tasks, options) => forecastModels(executor, tasks, options),
    fit: (tasks, control) => fitByPlan(executor, tasks, control),
    differentiate: async (spec, weights, rows) =>
      executor.differentiate({ plan: sharedPlan(spec), weights }, rows),
    // Nothing is kept per model.
    release: () => undefined,
    close: async () => executor.close(),
  };
}

/** Nets of one plan share a session; plans follow one another. */
async function fitByPlan(
  executor: NetExecutor,
  tasks: readonly FitTask[],
  { signal, onProgress }: FitControl = {},
): Promise<readonly FitResult[]> {
  const results = new Array<FitResult>(tasks.length);
  for (const indices of groupByPlan(tasks)) {
    const group = indices.map((index) => tasks[index]);
    const fitted = await driveFit(fitNets(executor, group), {
      ...(signal && { signal }),
      onProgress: (progress) => onProgress?.({ ...progress, task: indices[progress.task] }),
    });
    for (const [i, result] of fitted.entries()) results[indices[i]] = result;
  }
  return results;
}

function groupByPlan(tasks: readonly FitTask[]): readonly number[][] {
  const indicesByPlan = new Map<NetPlan, number[]>();
  for (const [index, { spec }] of tasks.entries()) {
    const plan = sharedPlan(spec);
    const indices = indicesByPlan.get(plan);
    if (indices === undefined) indicesByPlan.set(plan, [index]);
    else indices.push(index);
  }
  return [...indicesByPlan.values()];
}
