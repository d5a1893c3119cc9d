// What the commands that end by themselves have in common: a configuration and a Kafka cluster in, exit code out. Ctrl-C
// ends the wait, not the process.

import { openKafkaLog } from "../log/kafka/kafka-log.ts";
import type { Log } from "../log/log.ts";
import { loadConfig } from "../runtime/config/load.ts";
import type { AppConfig } from "../runtime/config/schema.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { silentLogger } from "../runtime/logging.ts";
import type { CommandIo } from "./command.ts";
import { kafkaOptions } from "./kafka-options.ts";

/** Refused, failed, or not answered in time. */
export const notDone = 1;

export interface Cluster {
  readonly config: AppConfig;
  readonly log: Log;
  /** Fires when nobody wants to wait any longer. */
  readonly signal: AbortSignal;
}

/** Returns the exit code. What is wrong with the cluster is told in one line. */
export async function onCluster(
  configArgv: readonly string[],
  io: CommandIo,
  act: (cluster: Cluster) => Promise<number>,
): Promise<number> {
  const config = loadConfig({ argv: configArgv, env: io.env });
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  process.on("SIGINT", stop).on("SIGTERM", stop);
  try {
    const log = await openKafkaLog(kafkaOptions(config, silentLogger));
    try {
      return await act({ config, log, signal: stopping.signal });
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
