// Observations as Avro: by our own schema, or framed with the id of any schema a registry knows.

import type { Observation } from "../../domain.ts";
import { fingerprintAt, fingerprintOf, isSingleObject, singleObjectHeaderBytes } from "./avro.ts";
import { MalformedBytes } from "./avro-cursor.ts";
import { compileFieldReader } from "./avro-reader.ts";
import type { AvroSchema } from "./avro-schema.ts";
import {
  DecodeFailure,
  defaultFields,
  type InputRecord,
  keyAsSeriesId,
  type ObservationCodec,
  type ObservationFields,
  type ObservationLimits,
  textOfKey,
  toObservation,
  valueWithin,
} from "./observation-codec.ts";
import type { SchemaRegistry } from "./registry.ts";
import { schemaVersions } from "./schemas.generated.ts";

/** Reads an observation from a record whose Avro body begins at `start` of its value. */
type BodyReader = (record: InputRecord, value: Buffer, start: number) => Observation | DecodeFailure;

/** Length of the magic byte 0 and the schema id. */
export const confluentHeaderBytes = 5;

/** Observation.avsc: a bare body of the newest version, or a single object of any version. */
export function avroObservations(limits: ObservationLimits): ObservationCodec {
  const versions = schemaVersions.Observation;
  const readers = versions.map((schema) => compileBodyReader(schema, defaultFields, limits));
  const readNewest = readers[readers.length - 1];
  const readerByFingerprint = new Map(versions.map((schema, i) => [fingerprintOf(schema), readers[i]]));

  const decode = (record: InputRecord) => {
    const value = valueWithin(record, limits);
    if (value instanceof DecodeFailure) return value;
    if (!isSingleObject(value)) return readNewest(record, value, 0);
    const fingerprint = fingerprintAt(value);
    const read = readerByFingerprint.get(fingerprint);
    if (read !== undefined) return read(record, value, singleObjectHeaderBytes);
    const detail = `the schema with fingerprint ${fingerprint.toString(16)} is no version of Observation`;
    return new DecodeFailure("unknown-schema", detail);
  };
  return { prepare: () => undefined, decode };
}

/** Any Avro record whose schema the registry knows, framed as Confluent's serialisers do. */
export function confluentObservations(
  fields: ObservationFields,
  limits: ObservationLimits,
  registry: SchemaRegistry,
): ObservationCodec {
  const readerById = new Map<number, BodyReader>();

  const prepare = (records: readonly InputRecord[]) => {
    const ids = new Set<number>();
    for (const { value } of records) {
      const id = value === null ? undefined : schemaIdOf(value);
      if (id !== undefined && !readerById.has(id) && !registry.has(id)) ids.add(id);
    }
    return ids.size === 0 ? undefined : registry.load(ids);
  };

  const decode = (record: InputRecord) => {
    const value = valueWithin(record, limits);
    if (value instanceof DecodeFailure) return value;
    const id = schemaIdOf(value);
    if (id === undefined) {
      return new DecodeFailure("undecodable", "the value does not begin with 0 and a schema id");
    }
    let read = readerById.get(id);
    if (read === undefined) {
      const found = registry.get(id);
      if (found.schema === null) return new DecodeFailure("unknown-schema", found.problem);
      read = compileForeignReader(id, found.schema, fields, limits);
      readerById.set(id, read);
    }
    return read(record, value, confluentHeaderBytes);
  };
  return { prepare, decode };
}

function schemaIdOf(value: Buffer): number | undefined {
  if (value.length < confluentHeaderBytes || value[0] !== 0) return undefined;
  const id = value.readInt32BE(1);
  return id >= 0 ? id : undefined;
}

function compileForeignReader(
  id: number,
  schema: AvroSchema,
  fields: ObservationFields,
  limits: ObservationLimits,
): BodyReader {
  try {
    return compileBodyReader(schema, fields, limits);
  } catch (error) {
    const failure = new DecodeFailure(
      "unknown-schema",
      `schema ${id} is unsound: ${(error as Error).message}`,
    );
    return () => failure;
  }
}

function compileBodyReader(
  schema: AvroSchema,
  fields: ObservationFields,
  limits: ObservationLimits,
): BodyReader {
  const readFields = compileFieldReader(schema, [fields.seriesId, fields.time, fields.value]);
  const isKeyed = fields.seriesId === keyAsSeriesId;
  return (record, bytes, start) => {
    try {
      const [named, time, value] = readFields(bytes, start);
      const seriesId = isKeyed ? textOfKey(record.key) : named;
      return toObservation({ seriesId, time, value }, fields.timeUnit, limits);
    } catch (error) {
      // A RangeError is a stack spent on a schema that nests in itself.
      if (!(error instanceof MalformedBytes || error instanceof RangeError)) throw error;
      return new DecodeFailure("undecodable", error.message);
    }
  };
}
