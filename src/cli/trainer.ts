// `forecastnet trainer`: trains what workers of the same group ask for on a Kafka cluster, from start to SIGTERM.

import { availableParallelism } from "node:os";
import { openTrainingThreads, type TrainingThreadsOptions } from "../retrain/training/training-threads.ts";
import type { AppConfig } from "../runtime/config/schema.ts";
import { Trainer } from "../trainer.ts";
import type { CommandIo } from "./command.ts";
import { runService } from "./run-service.ts";

/** Returns the exit code, once the trainer has ended. */
export function runTrainerCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  return runService("trainer", argv, io, (parts) => {
    const openTrainer = () => openTrainingThreads(threadsOf(parts.config));
    return new Trainer({ ...parts, openTrainer });
  });
}

/** A trainer has nothing else to do: unless told otherwise it takes every core. */
function threadsOf({ engine }: AppConfig): TrainingThreadsOptions {
  const { kind, memoryMb, threads } = engine;
  const setup = kind === "tensorflow" ? { kind, memoryMb } : { kind: "simd" as const };
  return { setup, threads: threads === 0 ? availableParallelism() : threads };
}
