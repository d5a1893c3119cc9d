// `forecastnet worker`: runs a worker on a Kafka cluster until SIGTERM.

import { Worker } from "../service/worker.ts";
import type { CommandIo } from "./command.ts";
import { runService } from "./run-service.ts";

const summary = `Reads observations from Kafka and writes forecasts, until SIGTERM or SIGINT. Serves /healthz, /readyz, /metrics,
/models and /series over HTTP.`;

/** Returns the exit code, once the worker has ended. */
export function runWorkerCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  return runService({ role: "worker", summary, argv, io }, (parts) => new Worker(parts));
}
