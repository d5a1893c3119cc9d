// `forecastnet worker`: a worker on a Kafka cluster, from start to SIGTERM.

import { Worker } from "../worker.ts";
import type { CommandIo } from "./command.ts";
import { runService } from "./run-service.ts";

/** Returns the exit code, once the worker has ended. */
export function runWorkerCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  return runService("worker", argv, io, (parts) => new Worker(parts));
}
