// A training that a thread takes step by step, and can give up between two steps.

import type { FitProgress, FitResult, FitTask } from "../engine.ts";
import type { NetExecutor } from "../executor.ts";
import { fitNets } from "../fit.ts";
import { sharedFloats } from "./resident-models.ts";

export interface Training {
  /** One step. Yields the progress of a net whose epoch it ended, and in the end the results. */
  next(): IteratorResult<FitProgress | null, readonly FitResult[]>;
  /** Makes the next step the last. */
  cancel(): void;
}

/** Trains nets of one plan. */
export function createTraining(executor: NetExecutor, tasks: readonly FitTask[]): Training {
  const fitting = fitNets(executor, tasks);
  let isBegun = false;
  let isCancelled = false;
  return {
    next: () => {
      // A generator that has not begun cannot hear what it is handed.
      if (isCancelled && !isBegun) return { done: true, value: tasks.map(() => ({ outcome: "cancelled" })) };
      isBegun = true;
      const step = fitting.next(isCancelled ? "cancel" : undefined);
      return step.done === true ? { done: true, value: step.value.map(toShared) } : step;
    },
    cancel: () => {
      isCancelled = true;
    },
  };
}

/** Weights that will be served lie in shared memory from the first. */
function toShared(result: FitResult): FitResult {
  return result.outcome === "fitted" ? { ...result, weights: sharedFloats(result.weights) } : result;
}
