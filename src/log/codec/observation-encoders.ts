// Encodes observations in the format configured for an input topic, for simulated sensors and tools. The counterpart of
// `observation-codec.ts`, which decodes them.

import { ForecastnetError } from "../../runtime/errors.ts";
import { avroCodec, singleObjectHeaderBytes } from "./avro.ts";
import {
  defaultFields,
  keyAsSeriesId,
  type ObservationFields,
  type ObservationFormat,
} from "./observation-codec.ts";
import { confluentHeaderBytes, requireRegistry, type SchemaRegistry } from "./registry.ts";
import { schemaVersions } from "./schemas.generated.ts";

interface Measured {
  readonly seriesId: string;
  readonly timeMs: number;
  readonly value: number;
}

export type EncodeObservation = (measured: Measured) => Buffer;

interface EncoderSettings {
  readonly topic: string;
  readonly format: ObservationFormat;
  readonly fields: ObservationFields;
  /** Needed only by confluent. */
  readonly registry: SchemaRegistry | null;
}

const observationCodec = avroCodec("Observation");

/** For confluent, registers the Observation schema as the value schema of the topic. The others need no I/O. */
export async function createObservationEncoder(settings: EncoderSettings): Promise<EncodeObservation> {
  const { topic, format, fields, registry } = settings;
  if (format === "avro") return encodeAsAvro;
  if (format === "json") return (measured) => encodeAsJson(measured, fields);
  refuseOtherFields(topic, fields);
  const schema = schemaVersions.Observation[schemaVersions.Observation.length - 1];
  const header = Buffer.alloc(confluentHeaderBytes);
  header.writeInt32BE(await requireRegistry(registry).register(`${topic}-value`, schema), 1);
  return (measured) => Buffer.concat([header, encodeAsAvro(measured).subarray(singleObjectHeaderBytes)]);
}

/** The avro format: a single object. */
export function encodeAsAvro({ seriesId, timeMs, value }: Measured): Buffer {
  return observationCodec.encode({ seriesId, time: timeMs, value, tags: {} });
}

function encodeAsJson({ seriesId, timeMs, value }: Measured, fields: ObservationFields): Buffer {
  const body: Body = {};
  if (fields.seriesId !== keyAsSeriesId) place(body, fields.seriesId, seriesId);
  place(body, fields.time, timeIn(fields.timeUnit, timeMs));
  place(body, fields.value, value);
  return Buffer.from(JSON.stringify(body), "utf8");
}

interface Body {
  [name: string]: Body | string | number;
}

/** Sets the value at the dotted path and creates the objects on its way. */
function place(body: Body, path: string, value: string | number): void {
  const names = path.split(".");
  const last = names.pop() as string;
  let place = body;
  for (const name of names) {
    const inner = place[name];
    if (typeof inner === "object") place = inner;
    else place = place[name] = {};
  }
  place[last] = value;
}

function timeIn(unit: ObservationFields["timeUnit"], timeMs: number): string | number {
  if (unit === "iso") return new Date(timeMs).toISOString();
  if (unit === "s") return timeMs / 1000;
  return unit === "us" ? timeMs * 1000 : timeMs;
}

/** Our schema has our field names. We cannot know a schema for other names. */
function refuseOtherFields(topic: string, fields: ObservationFields): void {
  const { seriesId, time, value } = defaultFields;
  const isOurs =
    (fields.seriesId === seriesId || fields.seriesId === keyAsSeriesId) &&
    fields.time === time &&
    fields.value === value &&
    fields.timeUnit === "ms";
  if (isOurs) return;
  throw new ForecastnetError(
    "CONFIG_INVALID",
    `topics.inputs: sensors can write topic ${topic} in the confluent format only with the fields ${seriesId}, ${time} and ${value} and the time in ms`,
  );
}
