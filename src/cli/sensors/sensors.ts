// `forecastnet sensors`: simulated sensors that write to an input topic of a Kafka cluster until stopped. Creates
// nothing: a missing topic is named, with what to do.

import { openKafkaLog } from "../../log/kafka/kafka-log.ts";
import type { Log } from "../../log/log.ts";
import { systemClock } from "../../runtime/clock.ts";
import { loadConfig } from "../../runtime/config/load.ts";
import type { AppConfig, InputTopic } from "../../runtime/config/schema.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import { createLogger, type Logger } from "../../runtime/logging.ts";
import { backoff } from "../../runtime/waiting.ts";
import { type CommandIo, exitCodes, tellUsage } from "../command.ts";
import { openInputWriter } from "../input-writer.ts";
import { kafkaOptions } from "../kafka-options.ts";
import { Fleet } from "../simulated/fleet.ts";
import { fixedStepMs, readCommandLine, type SensorsOptions, sensorsUsage } from "./options.ts";
import { type Pace, sendReadings } from "./send-readings.ts";

/** Returns the exit code, once the sensors have stopped. */
export async function runSensorsCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const read = readCommandLine(argv);
  if (typeof read === "string") return tellUsage(read, sensorsUsage, io);
  const config = loadConfig({ argv: read.configArgv, env: io.env });
  const logger = createLogger(config.worker.logLevel);
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  process.on("SIGINT", stop).on("SIGTERM", stop);
  try {
    await runSensors(read.options, config, logger, stopping.signal);
    return exitCodes.ok;
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
  }
}

async function runSensors(
  options: SensorsOptions,
  config: AppConfig,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  const input = chooseInput(options.topic, config);
  const pace = paceOf(options, config);
  const log = await openLog(config, logger, signal);
  if (log === null) return;
  try {
    const fleet = await openFleet(options, input, pace, config, log);
    const { topic, format } = input;
    logger.info({ topic, format, series: options.series, stepMs: pace.stepMs }, "sensors starting");
    await sendReadings(pace, { log, fleet, clock: systemClock, logger, signal });
    logger.info({ topic }, "sensors stopped");
  } finally {
    await log.close();
  }
}

function chooseInput(topic: string | null, { topics: { inputs } }: AppConfig): InputTopic {
  const input = topic === null ? inputs[0] : inputs.find((candidate) => candidate.topic === topic);
  if (input !== undefined) return input;
  const names = inputs.map((candidate) => candidate.topic).join(", ");
  throw new ForecastnetError("CONFIG_INVALID", `--topic is ${topic}; topics.inputs has ${names}`);
}

function paceOf(options: SensorsOptions, { series }: AppConfig): Pace {
  const { history, speed, wearAfter } = options;
  const iso = series.interval === "auto" ? "PT1S" : series.interval;
  const stepMs = options.stepMs ?? fixedStepMs(iso, "series.interval");
  const presentMs = systemClock.nowMs();
  const startMs = stepMs * (Math.floor(presentMs / stepMs) - history);
  return { stepMs, startMs, presentMs, speed, wearAfter };
}

/** Null when asked to stop before the log has answered. */
async function openLog(config: AppConfig, logger: Logger, signal: AbortSignal): Promise<Log | null> {
  for (let attempt = 0; !signal.aborted; attempt++) {
    try {
      return await openKafkaLog(kafkaOptions(config, logger));
    } catch (error) {
      if (!(error instanceof ForecastnetError) || !error.retryable) throw error;
      logger.warn({ code: error.code, reason: error.message }, "cannot start yet, trying again");
      await backoff(attempt, signal);
    }
  }
  return null;
}

async function openFleet(
  { series: count, talksNonsense }: SensorsOptions,
  input: InputTopic,
  { stepMs, startMs }: Pace,
  config: AppConfig,
  log: Log,
): Promise<Fleet> {
  const writer = await openInputWriter(input, config, log);
  return new Fleet({ ...writer, count, stepMs, startMs, talksNonsense });
}
