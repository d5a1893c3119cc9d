// `forecastnet trainer`: trains the models that workers of its group request, until SIGTERM.

import { availableParallelism } from "node:os";
import type { AppConfig } from "../runtime/config/schema.ts";
import { Trainer } from "../service/trainer.ts";
import { openTrainingThreads, type TrainingThreadsOptions } from "../training/training-threads.ts";
import type { CommandIo } from "./command.ts";
import { runService } from "./run-service.ts";

const summary = `Trains the models that workers of the same group request (retrain.where=trainers), until SIGTERM or SIGINT.
Serves /healthz, /readyz and /metrics over HTTP.`;

/** Returns the exit code, once the trainer has ended. */
export function runTrainerCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  return runService({ role: "trainer", summary, argv, io }, (parts) => {
    const openTrainer = () => openTrainingThreads(threadsOf(parts.config));
    return new Trainer({ ...parts, openTrainer });
  });
}

/** A trainer does nothing else: by default it uses every core. */
function threadsOf({ engine }: AppConfig): TrainingThreadsOptions {
  const { kind, memoryMb, threads } = engine;
  const setup = kind === "tensorflow" ? { kind, memoryMb } : { kind: "simd" as const };
  return { setup, threads: threads === 0 ? availableParallelism() : threads };
}
