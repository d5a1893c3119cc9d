// `forecastnet models`: the models of a Kafka cluster, by hand.

import { systemClock } from "../../runtime/clock.ts";
import { type CommandIo, tellUsage } from "../command.ts";
import { onCluster } from "../on-cluster.ts";
import { modelsUsage, readCommandLine } from "./options.ts";
import { runModels } from "./run-models.ts";

/** Returns the exit code. */
export async function runModelsCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const read = readCommandLine(argv);
  if (typeof read === "string") return tellUsage(read, modelsUsage, io);
  return onCluster(read.configArgv, io, ({ config: { topics }, log, signal }) =>
    runModels(read.options, { log, topics, io, clock: systemClock, signal }),
  );
}
