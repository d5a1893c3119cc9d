// Trains one model after the other without a pause until told to stop: the training that forecasts meet at worst.

import type { ModelTrainer, TrainingTask } from "../../src/training/training-task.ts";

export interface ConstantTraining {
  /** Resolves once nothing is trained any more; rejects when a training failed. */
  stop(): Promise<void>;
}

export function trainWithoutPause(
  trainer: ModelTrainer,
  taskFor: (number: number) => TrainingTask,
): ConstantTraining {
  const stopping = new AbortController();
  const { signal } = stopping;
  const running = (async () => {
    for (let number = 0; !signal.aborted; number++) {
      const [result] = await trainer.train([taskFor(number)], signal);
      if (result.outcome === "failed") throw new Error(`a training beside failed: ${result.reason}`);
    }
  })();
  running.catch(() => undefined); // Told to whoever stops it.
  return {
    stop: () => {
      stopping.abort();
      return running;
    },
  };
}
