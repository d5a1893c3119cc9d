// `forecastnet sensors`: simulated sensors that write to an input topic of a Kafka cluster until stopped. Creates no
// topic.

import { openKafkaLog } from "../log/kafka/kafka-log.ts";
import type { Log } from "../log/log.ts";
import { parseInterval } from "../models/interval.ts";
import { systemClock } from "../runtime/clock.ts";
import { integer, number, text, topicName } from "../runtime/config/formats.ts";
import { loadConfig } from "../runtime/config/load.ts";
import type { AppConfig, InputTopic } from "../runtime/config/schema.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { createLogger, type Logger } from "../runtime/logging.ts";
import { backoff } from "../runtime/waiting.ts";
import {
  type CommandIo,
  defineCommand,
  exitCodes,
  type LineOf,
  option,
  runCommand,
  toggle,
} from "./command.ts";
import { openInputWriter } from "./input-writer.ts";
import { kafkaOptions } from "./kafka-options.ts";
import { untilStopped } from "./on-cluster.ts";
import { Fleet } from "./simulated/fleet.ts";
import { type Pace, sendReadings } from "./simulated/send-readings.ts";

/** Months and years have no fixed length. */
const fixedInterval = text(
  "ISO 8601 duration of weeks, days, hours, minutes and seconds, such as PT5S",
  /^P(?=.*[1-9])(\d+W)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?$/,
);
const steps = integer(0, 10_000_000);

export const sensorsCommand = defineCommand({
  name: "sensors",
  summary: `Simulates sensors that write observations to an input topic until stopped, in the format configured for it. The
topic must exist; \`forecastnet topics create\` creates it.`,
  actions: {},
  flags: {
    series: option("number of sensors, 1 to 100000", "N", integer(1, 100_000), "40"),
    interval: option(
      "time between two observations of a sensor (default series.interval, PT1S if that is auto)",
      "ISO",
      fixedInterval,
    ),
    history: option("start N steps before now", "N", steps, "0"),
    speed: option("replay that history X times as fast as real time; 0: at once", "X", number(0, 1e9), "0"),
    "wear-after": option("the first sensor wears out N steps after the history; 0: never", "N", steps, "0"),
    nonsense: toggle("send a malformed record now and then, to see dead letters"),
    topic: option("input topic to write to (default: the first of topics.inputs)", "NAME", topicName),
  },
  takesConfig: true,
});

type SensorsValues = LineOf<typeof sensorsCommand>["values"];

/** Returns the exit code, once the sensors have stopped. */
export function runSensorsCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  return runCommand(sensorsCommand, argv, io, async ({ values, configArgv }) => {
    const config = loadConfig({ argv: configArgv, env: io.env });
    const logger = createLogger(config.worker.logLevel);
    await untilStopped((signal) => runSensors(values, config, logger, signal));
    return exitCodes.ok;
  });
}

async function runSensors(
  values: SensorsValues,
  config: AppConfig,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  const input = chooseInput(values.topic, config);
  const pace = paceOf(values, config);
  const log = await openLog(config, logger, signal);
  if (log === null) return;
  try {
    const fleet = await openFleet(values, input, pace, config, log);
    const { topic, format } = input;
    logger.info({ topic, format, series: values.series, stepMs: pace.stepMs }, "sensors starting");
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

function paceOf(values: SensorsValues, config: AppConfig): Pace {
  const stepMs = stepMsOf(values.interval, config);
  const presentMs = systemClock.nowMs();
  return {
    stepMs,
    startMs: stepMs * (Math.floor(presentMs / stepMs) - values.history),
    presentMs,
    speed: values.speed === 0 ? Number.POSITIVE_INFINITY : values.speed,
    wearAfter: values["wear-after"] === 0 ? null : values["wear-after"],
  };
}

function stepMsOf(given: string | null, { series }: AppConfig): number {
  const iso = given ?? (series.interval === "auto" ? "PT1S" : series.interval);
  if (fixedInterval.flaws(iso).length > 0) {
    const advice = `give --interval, an ${fixedInterval.allowed}`;
    throw new ForecastnetError(
      "CONFIG_INVALID",
      `series.interval is ${iso}, which has no fixed length: ${advice}`,
    );
  }
  const interval = parseInterval(iso);
  return interval.timeOf(1, 0) - interval.timeOf(0, 0);
}

/** Null if stopped before the log has answered. */
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
  { series: count, nonsense: sendsMalformed }: SensorsValues,
  input: InputTopic,
  { stepMs, startMs }: Pace,
  config: AppConfig,
  log: Log,
): Promise<Fleet> {
  const writer = await openInputWriter(input, config, log);
  return new Fleet({ ...writer, count, stepMs, startMs, sendsMalformed });
}
