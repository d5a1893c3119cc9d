// Builds the parts of the pipeline from the configuration: checks the topics, opens the formats, hands each
// stage its slice. The only place where configuration and stages meet.

import type { SeriesSettings } from "./domain.ts";
import type { Engine } from "./engine/engine.ts";
import { createForecastEncoder } from "./log/codec/forecast-codec.ts";
import type { ObservationCodec } from "./log/codec/observation-codec.ts";
import { createObservationCodec } from "./log/codec/observation-codecs.ts";
import { SchemaRegistry } from "./log/codec/registry.ts";
import { defaultRegistrySettings } from "./log/codec/registry-client.ts";
import type { Log } from "./log/log.ts";
import { checkTopics } from "./log/topic-check.ts";
import type { PipelineParts } from "./pipeline.ts";
import { resolveRetrainRules } from "./retrain/rules.ts";
import type { Clock } from "./runtime/clock.ts";
import type { AppConfig, InputTopic } from "./runtime/config/schema.ts";
import { seriesRules } from "./runtime/config/series-rules.ts";
import type { Logger } from "./runtime/logging.ts";
import type { Metrics } from "./runtime/metric-groups.ts";

export interface Surroundings {
  readonly config: AppConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export async function buildPipelineParts(
  log: Log,
  engine: Engine,
  surroundings: Surroundings,
): Promise<PipelineParts> {
  const { config, clock, logger, metrics } = surroundings;
  const { topics, output, pipeline, limits, calibration, retrain } = config;
  const names = { ...topics, inputs: topics.inputs.map(({ topic }) => topic) };
  const found = await checkTopics(log, names, config.kafka.createTopics);
  // Records wait for the registry as long as it takes; a start reports the trouble and begins again.
  const registry = openRegistry(config, Number.POSITIVE_INFINITY);
  const registryAtStart = openRegistry(config, 2_000);
  const settingsOf = seriesRules(config.series);
  const rulesOf = (settings: SeriesSettings) => resolveRetrainRules(retrain, settings);
  return {
    source: {
      codecByTopic: new Map(topics.inputs.map((input) => [input.topic, openCodec(input, config, registry)])),
      deadLetters: { topic: topics.deadLetters, partitions: found.deadLetterPartitions },
      futureToleranceMs: limits.futureToleranceMs,
      maxBatchRecords: pipeline.maxBatchRecords,
      behindAfterMs: pipeline.behindAfterMs,
      clock,
      metrics: metrics.source,
    },
    engine,
    paths: config.engine.paths,
    sink: {
      topic: topics.forecasts,
      partitions: found.forecastPartitions,
      encode: await createForecastEncoder(output.format, topics.forecasts, registryAtStart),
      clock,
      metrics: metrics.sink,
    },
    registry,
    stateTopic: topics.state,
    topics: { ...topics, ...found },
    partitions: found.partitions,
    levels: output.levels,
    live: {
      levels: output.levels,
      ...{ settingsOf, calibration, rollingSteps: (settings) => rulesOf(settings).rollingSteps },
    },
    bufferedBatches: pipeline.bufferedBatches,
    ...{ settingsOf, rulesOf },
    clock,
    logger,
    metrics,
  };
}

export function openRegistry({ registry }: AppConfig, patienceMs: number): SchemaRegistry | null {
  const { url, username, password } = registry;
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
  return new SchemaRegistry({ ...defaultRegistrySettings, url, credentials, patienceMs });
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
    limits: { maxRecordBytes: limits.recordBytes, maxIdLength: limits.seriesIdLength },
    registry,
  });
}
