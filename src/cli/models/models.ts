// `forecastnet models`: the models of a Kafka cluster, by hand.

import { openKafkaLog } from "../../log/kafka/kafka-log.ts";
import { systemClock } from "../../runtime/clock.ts";
import { loadConfig } from "../../runtime/config/load.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import { silentLogger } from "../../runtime/logging.ts";
import { type CommandIo, exitCodes } from "../command.ts";
import { kafkaOptions } from "../kafka-options.ts";
import { modelsUsage, readCommandLine } from "./options.ts";
import { notDone, runModels } from "./run-models.ts";

/** Returns the exit code. */
export async function runModelsCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const read = readCommandLine(argv);
  if (read === modelsUsage) {
    io.out(modelsUsage);
    return exitCodes.ok;
  }
  if (typeof read === "string") {
    io.err(read);
    return exitCodes.usage;
  }
  const config = loadConfig({ argv: read.configArgv, env: io.env });
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  process.on("SIGINT", stop).on("SIGTERM", stop);
  try {
    const log = await openKafkaLog(kafkaOptions(config, silentLogger));
    try {
      const { signal } = stopping;
      return await runModels(read.options, { log, topics: config.topics, io, clock: systemClock, signal });
    } finally {
      await log.close();
    }
  } catch (error) {
    if (!(error instanceof ForecastnetError)) throw error;
    io.err(error.message);
    return notDone;
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
  }
}
