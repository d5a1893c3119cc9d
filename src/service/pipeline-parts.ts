// Builds the parts of the pipeline from the configuration: checks the topics, opens the formats, gives each stage its slice.
// The only place where configuration and stages meet. Also computes the largest records that a configuration allows, which
// its topics must have room for.

import type { SeriesSettings } from "../domain.ts";
import type { PartitionView } from "../lifecycle/partition-view.ts";
import { type RetrainRules, resolveRetrainRules } from "../lifecycle/rules.ts";
import { createForecastEncoder, largestForecastBytes } from "../log/codec/forecast-codec.ts";
import { createObservationCodec, type ObservationCodec } from "../log/codec/observation-codec.ts";
import { defaultRegistrySettings, SchemaRegistry } from "../log/codec/registry.ts";
import type { Log } from "../log/log.ts";
import { type CheckedTopics, checkTopics, type LargestRecords, type Room } from "../log/topic-check.ts";
import { anyFamily, type Families } from "../models/families.ts";
import type { PipelineParts } from "../pipeline.ts";
import type { Timers } from "../runtime/clock.ts";
import { configInvalid, refusal } from "../runtime/config/problems.ts";
import type { AppConfig, InputTopic } from "../runtime/config/schema.ts";
import { seriesRules } from "../runtime/config/series-rules.ts";
import { problemAt } from "../runtime/config/sources.ts";
import { compileGlob } from "../runtime/glob.ts";
import type { Logger } from "../runtime/logging.ts";
import type { Metrics } from "../runtime/metric-groups.ts";
import { largestLiveBytes } from "../score/score-records.ts";
import { largestBlockBytes } from "../window/state-blocks.ts";

export interface Surroundings {
  readonly config: AppConfig;
  readonly clock: Timers;
  /** Uniform in [0, 1), for jitter. */
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Throws CONFIG_INVALID when a series is configured for an unknown model family. */
export function checkFamilies(
  { series }: Pick<AppConfig, "series">,
  known: readonly string[],
  sourceOf: (key: string) => string = () => "configuration",
): void {
  const allowed = [anyFamily, ...known];
  const given = [
    { key: "series.family", path: "", family: series.family },
    ...series.overrides.map(({ family }, i) => ({ key: "series.overrides", path: `[${i}].family`, family })),
  ];
  const problems = given.flatMap(({ key, path, family }) =>
    family === undefined || allowed.includes(family)
      ? []
      : [problemAt(key, sourceOf(key), refusal(path, family, allowed.join(", ")))],
  );
  if (problems.length > 0) throw configInvalid(problems);
}

/** Checks the topics of a worker. Throws TOPIC_AWAITED with everything that is wrong with them. */
export function checkWorkerTopics(log: Log, config: AppConfig, mayCreate: boolean): Promise<CheckedTopics> {
  const { topics } = config;
  const names = { ...topics, inputs: topics.inputs.map(({ topic }) => topic) };
  return checkTopics(log, names, mayCreate, largestRecords(config));
}

export async function buildPipelineParts(
  log: Log,
  families: Families,
  surroundings: Surroundings,
): Promise<PipelineParts> {
  const { config, clock, logger, metrics } = surroundings;
  const { topics, output, pipeline, limits, calibration, retrain } = config;
  const found = await checkWorkerTopics(log, config, config.kafka.createTopics);
  // Records wait for the registry without limit; a start reports the problem and is retried.
  const registry = openRegistry(config, Number.POSITIVE_INFINITY);
  const registryAtStart = openRegistry(config, 2_000);
  const settingsOf = seriesRules(config.series);
  const rulesOf = cachedRules((settings) => resolveRetrainRules(retrain, settings));
  const encode = await createForecastEncoder(output.format, {
    topic: topics.forecasts,
    precision: output.precision,
    registry: registryAtStart,
    refused: (reason) => logger.info({ reason }, "forecasts are written as doubles"),
  });
  // After the last step that may be retried, so that each warning is logged once.
  for (const reason of found.warnings) logger.warn({ reason }, "topic at risk");
  return {
    source: {
      codecByTopic: new Map(topics.inputs.map((input) => [input.topic, openCodec(input, config, registry)])),
      deadLetters: {
        topic: topics.deadLetters,
        partitions: found.deadLetterPartitions,
        maxBytes: found.deadLetterBytes,
      },
      futureToleranceMs: limits.futureToleranceMs,
      maxBatchRecords: pipeline.maxBatchRecords,
      behindAfterMs: pipeline.behindAfterMs,
      clock,
      metrics: metrics.source,
    },
    families,
    paths: config.engine.paths,
    sink: {
      topic: topics.forecasts,
      partitions: found.forecastPartitions,
      encode,
      clock,
      metrics: metrics.sink,
    },
    registry,
    stateTopic: topics.state,
    topics: { ...topics, ...found },
    partitions: found.partitions,
    partitionsByInput: found.partitionsByInput,
    maxSeries: limits.series,
    levels: output.levels,
    live: {
      levels: output.levels,
      settingsOf,
      calibration,
      rollingSteps: (settings) => rulesOf(settings).rollingSteps,
      isNamed: namedBy(config.metrics.series),
    },
    bufferedBatches: pipeline.bufferedBatches,
    settingsOf,
    rulesOf,
    clock,
    logger,
    metrics,
  };
}

/** Series share their settings objects, and the rules are asked for at every turn of the schedule. */
function cachedRules(resolve: PartitionView["rulesOf"]): PartitionView["rulesOf"] {
  const rulesBySettings = new WeakMap<SeriesSettings, RetrainRules>();
  return (settings) => {
    const rules = rulesBySettings.get(settings) ?? resolve(settings);
    rulesBySettings.set(settings, rules);
    return rules;
  };
}

/** True for ids that match one of the patterns. */
function namedBy(patterns: readonly string[]): (seriesId: string) => boolean {
  const compiled = patterns.map(compileGlob);
  return (seriesId) => compiled.some((pattern) => pattern.test(seriesId));
}

export function openRegistry({ registry }: AppConfig, patienceMs: number): SchemaRegistry | null {
  const { url, username, password, ca } = registry;
  if (url === "") return null;
  const credentials =
    password === null
      ? null
      : {
          username,
          get password() {
            return password.reveal();
          },
        };
  const settings = {
    ...defaultRegistrySettings,
    url,
    credentials,
    patienceMs,
    get ca() {
      return ca?.reveal();
    },
  };
  return new SchemaRegistry(settings);
}

function openCodec(
  input: InputTopic,
  { limits }: AppConfig,
  registry: SchemaRegistry | null,
): ObservationCodec {
  const { format, seriesField, timeField, valueField, timeUnit } = input;
  return createObservationCodec({
    format,
    fields: { seriesId: seriesField, time: timeField, value: valueField, timeUnit },
    limits: {
      maxRecordBytes: limits.recordBytes,
      maxIdLength: limits.seriesIdLength,
      maxChannels: limits.channels,
    },
    registry,
  });
}

/** For headers of the original record and ours, and the overhead of a record. */
const headerBytes = 16 * 1024;
/** For everything but the numbers: header, keys, versions and the verdict on a model. */
const stateFrameBytes = 2_048;

export function largestRecords(config: AppConfig): LargestRecords {
  const { series, output, limits, calibration } = config;
  const horizon = Math.max(series.horizon, ...series.overrides.map((override) => override.horizon ?? 0));
  const levels = output.levels.length;
  const { seriesIdLength: idLength, channels } = limits;
  const forecastBytes = (channelCount: number) =>
    largestForecastBytes(output.format, {
      horizon,
      channels: channelCount,
      levels,
      idLength,
      hasRaw: calibration.publishRaw,
    });
  const stateBytes = (channelCount: number) => {
    const shape = { horizon, channels: channelCount, levels };
    const numbers = Math.max(largestBlockBytes(channelCount), largestLiveBytes(shape));
    return numbers + stateFrameBytes + 6 * idLength;
  };
  const settings = `horizon ${horizon}, ${levels} levels and up to ${channels} channels`;
  const letterBytes = limits.recordBytes + headerBytes;
  return {
    forecast: roomOf(forecastBytes, channels, `a forecast of ${settings}`),
    state: roomOf(stateBytes, channels, `the state of a series of ${settings}`),
    deadLetter: {
      // Larger dead letters are cut.
      leastBytes: headerBytes,
      mostBytes: letterBytes,
      what: `an input record of limits.recordBytes (${limits.recordBytes}) as a dead letter`,
    },
  };
}

/** A series of one channel must fit. Whether any series has more is not known beforehand. */
function roomOf(bytesOf: (channels: number) => number, channels: number, what: string): Room {
  return { leastBytes: bytesOf(1), mostBytes: bytesOf(channels), what };
}
