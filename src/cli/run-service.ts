// Runs a service on a Kafka cluster until a signal stops it: configuration in, exit code out.

import { openKafkaLog } from "../log/kafka/kafka-log.ts";
import type { Log } from "../log/log.ts";
import { systemClock } from "../runtime/clock.ts";
import { loadConfig } from "../runtime/config/load.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { createLogger, type Logger } from "../runtime/logging.ts";
import { createMetrics } from "../runtime/metrics.ts";
import type { Surroundings } from "../service/pipeline-parts.ts";
import type { Role, Service } from "../service/service.ts";
import { asksForHelp, type CommandIo, configHelp, exitCodes } from "./command.ts";
import { connectionWarnings, kafkaOptions } from "./kafka-options.ts";
import { productVersion } from "./version.ts";

interface ClusterParts extends Surroundings {
  readonly openLog: () => Promise<Log>;
}

type Startable = Pick<Service, "done" | "stop">;

interface ServiceCommand {
  readonly role: Role;
  /** For the help text. */
  readonly summary: string;
  readonly argv: readonly string[];
  readonly io: CommandIo;
}

/** Returns the exit code, once the service has ended. */
export async function runService(
  { role, summary, argv, io }: ServiceCommand,
  start: (parts: ClusterParts) => Startable,
): Promise<number> {
  if (asksForHelp(argv)) {
    io.out(`usage: forecastnet ${role} [options]\n\n${summary}\n\n${configHelp}`);
    return exitCodes.ok;
  }
  const config = loadConfig({ argv, env: io.env });
  const logger = createLogger(config.worker.logLevel);
  const version = productVersion();
  logger.info({ version, node: process.version, group: config.group }, `${role} starting`);
  for (const warning of connectionWarnings(config))
    logger.warn({ reason: warning }, "unsafe connection settings");
  const metrics = createMetrics(version, config.metrics);
  const service = start({
    config,
    openLog: () => openKafkaLog(kafkaOptions(config, logger, metrics)),
    clock: systemClock,
    random: Math.random,
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
