// Encodes generated observations for an input topic, in the topic's configured format. Creates no topic.

import { createObservationEncoder, type EncodeObservation } from "../log/codec/observation-encoders.ts";
import type { Log } from "../log/log.ts";
import type { AppConfig, InputTopic } from "../runtime/config/schema.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { openRegistry } from "../service/pipeline-parts.ts";

interface InputWriter {
  readonly topic: string;
  readonly partitions: number;
  readonly encode: EncodeObservation;
}

/** Time limit for an answer of the registry. */
const registryMs = 10_000;

/** Throws TOPIC_MISSING when the topic does not exist. */
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
