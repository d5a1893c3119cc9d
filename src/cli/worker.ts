// `forecastnet worker`: a worker on a Kafka cluster, from start to SIGTERM.

import { type KafkaLogOptions, openKafkaLog } from "../log/kafka/kafka-log.ts";
import { systemClock } from "../runtime/clock.ts";
import { loadConfig } from "../runtime/config/load.ts";
import type { AppConfig } from "../runtime/config/schema.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { createLogger, type Logger } from "../runtime/logging.ts";
import { createMetrics } from "../runtime/metrics.ts";
import { Worker } from "../worker.ts";
import { type CommandIo, exitCodes } from "./command.ts";
import { productVersion } from "./version.ts";

/** Returns the exit code, once the worker has ended. */
export async function runWorkerCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const config = loadConfig({ argv, env: io.env });
  const logger = createLogger(config.worker.logLevel);
  const version = productVersion();
  logger.info({ version, node: process.version, group: config.group }, "worker starting");
  const worker = new Worker({
    config,
    openLog: () => openKafkaLog(kafkaOptions(config, logger)),
    clock: systemClock,
    logger,
    metrics: createMetrics(version),
  });
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => worker.stop(signal));
  try {
    await worker.done;
    return exitCodes.ok;
  } catch (error) {
    const facts =
      error instanceof ForecastnetError ? { code: error.code, remedy: error.remedy, ...error.context } : {};
    logger.error(
      { ...facts, reason: error instanceof Error ? error.message : String(error) },
      "worker failed",
    );
    return exitCodes.failed;
  }
}

function kafkaOptions({ kafka }: AppConfig, logger: Logger): KafkaLogOptions {
  const { brokers, clientId, ssl, sasl, sessionTimeoutMs, transactionTimeoutMs, replicationFactor } = kafka;
  return {
    ...{ brokers, clientId, sessionTimeoutMs, transactionTimeoutMs, replicationFactor },
    ...(ssl.enabled ? { ssl: tlsOf(ssl) } : {}),
    ...(sasl.mechanism === "none" || sasl.password === null
      ? {}
      : { sasl: { mechanism: sasl.mechanism, username: sasl.username, password: sasl.password.reveal() } }),
    clock: systemClock,
    logger,
  };
}

function tlsOf({ ca, cert, key }: AppConfig["kafka"]["ssl"]): NonNullable<KafkaLogOptions["ssl"]> {
  return {
    ...(ca === null ? {} : { ca: ca.reveal() }),
    ...(cert === null ? {} : { cert: cert.reveal() }),
    ...(key === null ? {} : { key: key.reveal() }),
  };
}
