// Decodes input records into observations, in the format configured for the topic: our own Avro schema, any Avro
// schema in a Confluent registry, or JSON. All formats end in `toObservation`, which decides whether three raw values
// are an observation. Bad data is returned as a DecodeFailure and never thrown.

import { isUtf8 } from "node:buffer";
import type { DeadLetterReason, Observation } from "../../domain.ts";
import { fingerprintAt, fingerprintOf, isSingleObject, singleObjectHeaderBytes } from "./avro.ts";
import { compileFieldReader, MalformedBytes } from "./avro-reader.ts";
import type { AvroSchema } from "./avro-schema.ts";
import { confluentHeaderBytes, requireRegistry, type SchemaRegistry } from "./registry.ts";
import { schemaVersions } from "./schemas.generated.ts";

interface InputRecord {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
}

export interface ObservationCodec {
  /**
   * Fetches what decoding these records needs. Returns undefined if there is nothing to wait for, so that the usual
   * batch does not yield to the event loop.
   */
  prepare(records: readonly InputRecord[]): Promise<void> | undefined;
  decode(record: InputRecord): Observation | DecodeFailure;
}

/** Why a record is not an observation. */
export class DecodeFailure {
  readonly reason: DeadLetterReason;
  readonly detail: string;

  constructor(reason: DeadLetterReason, detail: string) {
    this.reason = reason;
    this.detail = detail;
  }
}

export type ObservationFormat = "avro" | "confluent" | "json";

/** Where to find the parts of an observation in a record: dotted paths such as `payload.sensor.id`. */
export interface ObservationFields {
  /** A path, or `$key` for the key of the record. */
  readonly seriesId: string;
  readonly time: string;
  readonly value: string;
  /** The unit of a numeric time; "iso" allows no numbers. Text is always ISO 8601. */
  readonly timeUnit: "ms" | "s" | "us" | "iso";
}

interface ObservationLimits {
  readonly maxRecordBytes: number;
  /** In UTF-16 code units. */
  readonly maxIdLength: number;
  readonly maxChannels: number;
}

export const defaultFields: ObservationFields = {
  seriesId: "seriesId",
  time: "time",
  value: "value",
  timeUnit: "ms",
};

/** As the path of the series id: the key of the record, as UTF-8. */
export const keyAsSeriesId = "$key";

interface ObservationCodecSettings {
  readonly format: ObservationFormat;
  /** Used by confluent and json; the avro format has the fields of our own schema. */
  readonly fields: ObservationFields;
  readonly limits: ObservationLimits;
  /** Needed only by confluent. */
  readonly registry: SchemaRegistry | null;
}

export function createObservationCodec(settings: ObservationCodecSettings): ObservationCodec {
  const { format, fields, limits, registry } = settings;
  if (format === "avro") return avroObservations(limits);
  if (format === "json") return jsonObservations(fields, limits);
  return confluentObservations(fields, limits, requireRegistry(registry));
}

/** JSON objects of any shape. */
export function jsonObservations(fields: ObservationFields, limits: ObservationLimits): ObservationCodec {
  const seriesIdPath = fields.seriesId.split(".");
  const timePath = fields.time.split(".");
  const valuePath = fields.value.split(".");
  const isKeyed = fields.seriesId === keyAsSeriesId;

  const decode = (record: InputRecord) => {
    const bytes = valueWithin(record, limits);
    if (bytes instanceof DecodeFailure) return bytes;
    const body = parseJson(bytes);
    if (body instanceof DecodeFailure) return body;
    const seriesId = isKeyed ? textOfKey(record.key) : valueAt(body, seriesIdPath);
    const raw = { seriesId, time: valueAt(body, timePath), value: valueAt(body, valuePath) };
    return toObservation(raw, fields.timeUnit, limits);
  };
  return { prepare: () => undefined, decode };
}

function parseJson(bytes: Buffer): unknown {
  // Invalid UTF-8 would be read as U+FFFD, and two different ids could become one.
  if (!isUtf8(bytes)) return new DecodeFailure("undecodable", "the value is not UTF-8");
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch (error) {
    return new DecodeFailure("undecodable", `the value is not JSON: ${(error as Error).message}`);
  }
}

function valueAt(body: unknown, path: readonly string[]): unknown {
  let value = body;
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[step];
  }
  return value;
}

/** Reads an observation from a record whose Avro body starts at `start` of its value. */
type BodyReader = (record: InputRecord, value: Buffer, start: number) => Observation | DecodeFailure;

/** Observation.avsc: a bare body of the newest version, or a single object of any version. */
function avroObservations(limits: ObservationLimits): ObservationCodec {
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
    const detail = `the schema with fingerprint ${fingerprint.toString(16)} is not a version of Observation`;
    return new DecodeFailure("unknown-schema", detail);
  };
  return { prepare: () => undefined, decode };
}

/** Any Avro record whose schema the registry knows, in the frame of Confluent's serializers. */
function confluentObservations(
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
      return new DecodeFailure("undecodable", "the value does not start with 0 and a schema id");
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
  const paths = [fields.seriesId, fields.time, fields.value];
  const readFields = compileFieldReader(schema, paths, limits.maxChannels + 1);
  const isKeyed = fields.seriesId === keyAsSeriesId;
  return (record, bytes, start) => {
    try {
      const [named, time, value] = readFields(bytes, start);
      const seriesId = isKeyed ? textOfKey(record.key) : named;
      return toObservation({ seriesId, time, value }, fields.timeUnit, limits);
    } catch (error) {
      // A RangeError is a stack overflow in a schema that contains itself.
      if (!(error instanceof MalformedBytes || error instanceof RangeError)) throw error;
      return new DecodeFailure("undecodable", error.message);
    }
  };
}

const earliestMs = Date.UTC(1900, 0, 1);
const latestMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

const timeUnitWords: Readonly<Record<ObservationFields["timeUnit"], string>> = {
  ms: "as whole milliseconds or ",
  s: "as seconds or ",
  us: "as microseconds or ",
  iso: "as ",
};

/** The bytes of the value, or a failure if there are none or too many. */
function valueWithin(record: InputRecord, limits: ObservationLimits): Buffer | DecodeFailure {
  const { value } = record;
  if (value === null) return new DecodeFailure("undecodable", "the record has no value");
  if (value.length > limits.maxRecordBytes) {
    const detail = `the value has ${value.length} bytes, allowed are ${limits.maxRecordBytes}`;
    return new DecodeFailure("oversized", detail);
  }
  return value;
}

/** Undefined if there is no key or it is not UTF-8. */
function textOfKey(key: Buffer | null): string | undefined {
  return key !== null && isUtf8(key) ? key.toString("utf8") : undefined;
}

/** Decides whether three raw values of any type are an observation. */
function toObservation(
  raw: { readonly seriesId: unknown; readonly time: unknown; readonly value: unknown },
  timeUnit: ObservationFields["timeUnit"],
  limits: ObservationLimits,
): Observation | DecodeFailure {
  const { seriesId, time, value } = raw;
  if (typeof seriesId !== "string" || seriesId === "") {
    return new DecodeFailure("missing-series", `the series id is ${show(seriesId)}, expected text`);
  }
  if (seriesId.length > limits.maxIdLength) {
    const detail = `the series id has ${seriesId.length} characters, allowed are ${limits.maxIdLength}`;
    return new DecodeFailure("series-id-too-long", detail);
  }
  if (unfitForIds.test(seriesId)) {
    const detail = `the series id ${show(seriesId)} holds a control character or half of a surrogate pair`;
    return new DecodeFailure("bad-series-id", detail);
  }
  const timeMs = toMs(time, timeUnit);
  if (!Number.isInteger(timeMs) || timeMs < earliestMs || timeMs > latestMs) {
    const expected = `years 1900 to 9999, ${timeUnitWords[timeUnit]}ISO 8601 text`;
    return new DecodeFailure("bad-time", `the time is ${show(time)}, expected ${expected}`);
  }
  const values = Array.isArray(value) ? value : [value];
  if (values.length > limits.maxChannels) {
    const detail = `the observation has more than the ${limits.maxChannels} channels that limits.channels allows`;
    return new DecodeFailure("too-many-channels", detail);
  }
  if (values.length === 0 || !values.every(isMeasurement)) {
    const detail = `the value is ${show(value)}, expected a finite number of at most 1e100 either way, or a list of them`;
    return new DecodeFailure("bad-value", detail);
  }
  return { seriesId, timeMs, values };
}

/**
 * Our keys put a NUL between a series id and what follows it. Other control characters break displays of the id. A lone
 * surrogate cannot be encoded: in UTF-8 all lone surrogates are the same.
 */
const unfitForIds = /[\p{Cc}\p{Cs}]/u;

/** Beyond this, the square of an error would not be finite. */
const largestMeasurement = 1e100;

function isMeasurement(value: unknown): boolean {
  return typeof value === "number" && Math.abs(value) <= largestMeasurement;
}

/** Milliseconds since the epoch, or NaN. */
function toMs(time: unknown, unit: ObservationFields["timeUnit"]): number {
  if (time instanceof Date) return time.getTime();
  if (typeof time === "string") return parseIsoTime(time);
  if (typeof time !== "number" || unit === "iso") return Number.NaN;
  if (unit === "s") return Math.round(time * 1000);
  return unit === "us" ? Math.floor(time / 1000) : time;
}

/** A value as text for a dead letter, at most 80 characters. */
function show(value: unknown): string {
  if (value === undefined) return "absent";
  if (Array.isArray(value)) {
    const parts = value.slice(0, 10).map((part) => (typeof part === "object" ? kindOf(part) : show(part)));
    return shortened(`[${parts.join(",")}${value.length > 10 ? ",…" : ""}]`);
  }
  if (typeof value === "string") return shortened(JSON.stringify(value.slice(0, 80)));
  // Not as JSON, because a value may be nested deeper than the stack.
  return typeof value === "object" && !(value instanceof Date) ? kindOf(value) : shortened(String(value));
}

function kindOf(value: object | null): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "[…]" : "{…}";
}

function shortened(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

// ISO 8601 date-times, parsed alike on every machine. A time without a zone is UTC, where Date.parse would use the
// zone of the machine. A day that its month does not have is refused and not rolled over.

const isoPattern =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:Z|([+-])(\d\d):?(\d\d)?)?)?$/;

/** Milliseconds since the epoch, rounded down; NaN if the text is not a date-time. */
export function parseIsoTime(text: string): number {
  const match = isoPattern.exec(text);
  if (match === null) return Number.NaN;
  const part = (group: number) => Number(match[group] ?? 0);
  const [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map(part);
  const [zoneHour, zoneMinute] = [9, 10].map(part);
  if (hour > 23 || minute > 59 || second > 59 || zoneHour > 23 || zoneMinute > 59) return Number.NaN;
  const midnight = Date.UTC(year, month - 1, day);
  const date = new Date(midnight);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return Number.NaN;
  const millisecond = Number((match[7] ?? "").padEnd(3, "0").slice(0, 3));
  const zoneMinutes = (match[8] === "-" ? -1 : 1) * (zoneHour * 60 + zoneMinute);
  return midnight + ((hour * 60 + minute - zoneMinutes) * 60 + second) * 1000 + millisecond;
}
