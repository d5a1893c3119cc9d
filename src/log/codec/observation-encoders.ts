// Observations as bytes, as an input topic is configured to hold them: for sensors we simulate and tools. The
// counterpart of the observation codecs, which read them.

import { ForecastnetError } from "../../runtime/errors.ts";
import { avroCodec, singleObjectHeaderBytes } from "./avro.ts";
import { confluentHeaderBytes } from "./avro-observations.ts";
import {
  defaultFields,
  keyAsSeriesId,
  type ObservationFields,
  type ObservationFormat,
} from "./observation-codec.ts";
import { requireRegistry } from "./observation-codecs.ts";
import type { SchemaRegistry } from "./registry.ts";
import { schemaVersions } from "./schemas.generated.ts";

export interface Measured {
  readonly seriesId: string;
  readonly timeMs: number;
  readonly value: number;
}

export type EncodeObservation = (measured: Measured) => Buffer;

export interface EncoderSettings {
  readonly topic: string;
  readonly format: ObservationFormat;
  readonly fields: ObservationFields;
  /** Needed by confluent only. */
  readonly registry: SchemaRegistry | null;
}

const observationCodec = avroCodec("Observation");

/** For confluent this registers the Observation schema as the value of the topic; the others need no I/O. */
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

/** In the avro format: a single object. */
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

/** Puts the value where the dotted path leads, making the objects on its way. */
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

/** Our own schema has our own field names; what another schema would look like we cannot know. */
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
