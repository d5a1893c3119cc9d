// Observations made up for an input topic, in the format that is configured for it.

import { createObservationEncoder, type EncodeObservation } from "../log/codec/observation-encoders.ts";
import type { Log } from "../log/log.ts";
import { openRegistry } from "../pipeline-parts.ts";
import type { AppConfig, InputTopic } from "../runtime/config/schema.ts";
import { ForecastnetError } from "../runtime/errors.ts";

export interface InputWriter {
  readonly topic: string;
  readonly partitions: number;
  readonly encode: EncodeObservation;
}

/** How long the registry may take to answer. */
const registryMs = 10_000;

/** Creates nothing: a missing topic is named, with what to do. */
export async function openInputWriter(input: InputTopic, config: AppConfig, log: Log): Promise<InputWriter> {
  const { topic, format, seriesField, timeField, valueField, timeUnit } = input;
  const [facts] = await log.describeTopics([topic]);
  if (facts === undefined) {
    throw new ForecastnetError(
      "TOPIC_MISSING",
      `input topic ${topic} does not exist: create it first, for example with \`forecastnet topics create --inputs 8\``,
    );
  }
  const fields = { seriesId: seriesField, time: timeField, value: valueField, timeUnit };
  const registry = format === "confluent" ? openRegistry(config, registryMs) : null;
  const encode = await createObservationEncoder({ topic, format, fields, registry });
  registry?.close();
  return { topic, partitions: facts.partitions, encode };
}
