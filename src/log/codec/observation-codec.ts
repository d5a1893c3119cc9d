// What all input formats share: how a codec looks to the source stage, and when three raw values are an
// observation. Bad data is an answer here (DecodeFailure), never an exception.

import { isUtf8 } from "node:buffer";
import type { DeadLetterReason, Observation } from "../../domain.ts";
import { parseIsoTime } from "./iso-time.ts";

export interface InputRecord {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
}

export interface ObservationCodec {
  /**
   * Fetches what decoding these records needs. Returns undefined when there is nothing to wait for, so that
   * the usual batch costs no turn of the event loop.
   */
  prepare(records: readonly InputRecord[]): Promise<void> | undefined;
  decode(record: InputRecord): Observation | DecodeFailure;
}

/** Why a record is no observation. */
export class DecodeFailure {
  readonly reason: DeadLetterReason;
  readonly detail: string;

  constructor(reason: DeadLetterReason, detail: string) {
    this.reason = reason;
    this.detail = detail;
  }
}

export type ObservationFormat = "avro" | "confluent" | "json";

/** Where an observation's parts are found in a record: dotted paths, as in `payload.sensor.id`. */
export interface ObservationFields {
  /** Or `$key` for the record's key. */
  readonly seriesId: string;
  readonly time: string;
  readonly value: string;
  /** The unit of a time that is a plain number; iso allows none. Text is ISO 8601 whatever the unit. */
  readonly timeUnit: "ms" | "s" | "us" | "iso";
}

export interface ObservationLimits {
  readonly maxRecordBytes: number;
  /** In UTF-16 units, as JavaScript counts. */
  readonly maxIdLength: number;
}

export const defaultFields: ObservationFields = {
  seriesId: "seriesId",
  time: "time",
  value: "value",
  timeUnit: "ms",
};

/** As a path of the series id: the record's key, as UTF-8. */
export const keyAsSeriesId = "$key";

const earliestMs = Date.UTC(1900, 0, 1);
const latestMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

const timeUnitWords: Readonly<Record<ObservationFields["timeUnit"], string>> = {
  ms: "as whole milliseconds or ",
  s: "as seconds or ",
  us: "as microseconds or ",
  iso: "as ",
};

/** The value's bytes, if there are any and not too many. */
export function valueWithin(record: InputRecord, limits: ObservationLimits): Buffer | DecodeFailure {
  const { value } = record;
  if (value === null) return new DecodeFailure("undecodable", "the record has no value");
  if (value.length > limits.maxRecordBytes) {
    const detail = `the value has ${value.length} bytes, allowed are ${limits.maxRecordBytes}`;
    return new DecodeFailure("oversized", detail);
  }
  return value;
}

/** The key as text; undefined if there is none or it is not UTF-8. */
export function textOfKey(key: Buffer | null): string | undefined {
  return key !== null && isUtf8(key) ? key.toString("utf8") : undefined;
}

/** Judges three raw values, of whatever type the record held. */
export function toObservation(
  raw: { readonly seriesId: unknown; readonly time: unknown; readonly value: unknown },
  timeUnit: ObservationFields["timeUnit"],
  limits: ObservationLimits,
): Observation | DecodeFailure {
  const { seriesId, time, value } = raw;
  if (typeof seriesId !== "string" || seriesId === "") {
    return new DecodeFailure("missing-series", `the series id is ${show(seriesId)}, expected text`);
  }
  // Keys of ours put a NUL between a series id and what follows it.
  if (seriesId.includes("\u0000")) {
    return new DecodeFailure("missing-series", `the series id ${show(seriesId)} holds a NUL character`);
  }
  if (seriesId.length > limits.maxIdLength) {
    const detail = `the series id has ${seriesId.length} characters, allowed are ${limits.maxIdLength}`;
    return new DecodeFailure("series-id-too-long", detail);
  }
  const timeMs = toMs(time, timeUnit);
  if (!Number.isInteger(timeMs) || timeMs < earliestMs || timeMs > latestMs) {
    const expected = `years 1900 to 9999, ${timeUnitWords[timeUnit]}ISO 8601 text`;
    return new DecodeFailure("bad-time", `the time is ${show(time)}, expected ${expected}`);
  }
  const values = Array.isArray(value) ? value : [value];
  if (values.length === 0 || !values.every(isMeasurement)) {
    const detail = `the value is ${show(value)}, expected a finite number of at most 1e100 either way, or a list of them`;
    return new DecodeFailure("bad-value", detail);
  }
  return { seriesId, timeMs, values };
}

/** Beyond this the square of an error is no longer a finite number. */
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

/** A value as a person would want to see it in a dead letter, at most 80 characters of it. */
function show(value: unknown): string {
  if (value === undefined) return "absent";
  // JSON would show NaN and the infinities as null, and has no word for an invalid Date.
  const text = typeof value === "number" || value instanceof Date ? String(value) : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
