// Observations as JSON objects of any shape, read by configured field paths.

import { isUtf8 } from "node:buffer";
import {
  DecodeFailure,
  type InputRecord,
  keyAsSeriesId,
  type ObservationCodec,
  type ObservationFields,
  type ObservationLimits,
  textOfKey,
  toObservation,
  valueWithin,
} from "./observation-codec.ts";

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
  // Checked first: bytes that are no UTF-8 would read as U+FFFD, and two different names would become one.
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
