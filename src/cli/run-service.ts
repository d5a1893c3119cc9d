// What the commands that run until they are told to stop have in common: configuration, log and signals in, exit
// code out.

import { openKafkaLog } from "../log/kafka/kafka-log.ts";
import type { Log } from "../log/log.ts";
import type { Surroundings } from "../pipeline-parts.ts";
import { systemClock } from "../runtime/clock.ts";
import { loadConfig } from "../runtime/config/load.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import type { Role } from "../runtime/lifecycle.ts";
import { createLogger, type Logger } from "../runtime/logging.ts";
import { createMetrics } from "../runtime/metrics.ts";
import type { Service } from "../runtime/service.ts";
import { type CommandIo, exitCodes } from "./command.ts";
import { kafkaOptions } from "./kafka-options.ts";
import { productVersion } from "./version.ts";

/** What every service on a Kafka cluster is made of. */
export interface ClusterParts extends Surroundings {
  readonly openLog: () => Promise<Log>;
}

type Startable = Pick<Service, "done" | "stop">;

/** Returns the exit code, once the service has ended. */
export async function runService(
  role: Role,
  argv: readonly string[],
  io: CommandIo,
  start: (parts: ClusterParts) => Startable,
): Promise<number> {
  const config = loadConfig({ argv, env: io.env });
  const logger = createLogger(config.worker.logLevel);
  const version = productVersion();
  logger.info({ version, node: process.version, group: config.group }, `${role} starting`);
  const metrics = createMetrics(version, config.metrics);
  const service = start({
    config,
    openLog: () => openKafkaLog(kafkaOptions(config, logger, metrics.transaction)),
    clock: systemClock,
    logger,
    metrics,
  });
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => service.stop(signal));
  return outcomeOf(service, role, logger);
}

async function outcomeOf(service: Startable, role: Role, logger: Logger): Promise<number> {
  try {
    await service.done;
    return exitCodes.ok;
  } catch (error) {
    const facts =
      error instanceof ForecastnetError ? { code: error.code, remedy: error.remedy, ...error.context } : {};
    const reason = error instanceof Error ? error.message : String(error);
    logger.error({ ...facts, reason }, `${role} failed`);
    return exitCodes.failed;
  }
}
