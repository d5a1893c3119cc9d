// A kept forecast as a record of the state topic; `stored-records.ts` reads it back.

import { singleObjectHeader } from "../../log/codec/avro.ts";
import { AvroWriter } from "../../log/codec/avro-writer.ts";
import { schemaVersions } from "../../log/codec/schemas.generated.ts";
import type { Tenure } from "./tenure.ts";

const header = singleObjectHeader(schemaVersions.KeptForecast[schemaVersions.KeptForecast.length - 1]);
// One for all records: writing is synchronous, and what was written is left alone.
const writer = new AvroWriter();

/** Field by field in the order of KeptForecast.avsc; a test holds it against avsc. Null when nothing is kept there. */
export function writeKept(seriesId: string, { kept, frame, rolling }: Tenure, place: number): Buffer | null {
  const originSlot = kept.originOf(place);
  if (!Number.isFinite(originSlot)) return null;
  const { horizon, channels } = frame;
  const { levels } = rolling.rule;
  const stated = encodedLevels(levels);
  writer.begin(header);
  writer.writeString(seriesId);
  writer.writeLong(originSlot);
  writer.writeString(kept.strangerAt(place) ?? frame.version);
  writer.writeLong(channels);
  writer.writeLong(horizon);
  writer.writeEncoded(stated);
  const quantiles = quantilesOf(levels.length * channels * horizon);
  kept.read(place, quantiles);
  writer.writeFloatsAsBytes(quantiles);
  return writer.end();
}

const quantilesByLength = new Map<number, Float32Array>();

/** Memory that is used again for the next record: an array of its own for every record keeps the collector busy. */
function quantilesOf(length: number): Float32Array {
  const quantiles = quantilesByLength.get(length) ?? new Float32Array(length);
  quantilesByLength.set(length, quantiles);
  return quantiles;
}

const encodedByLevels = new WeakMap<readonly number[], Buffer>();

/** A book has one list of levels, and every record repeats it. */
export function encodedLevels(levels: readonly number[]): Buffer {
  let encoded = encodedByLevels.get(levels);
  if (encoded === undefined) {
    writer.begin(nothing);
    writeFew(writer, levels);
    encoded = Buffer.from(writer.end());
    encodedByLevels.set(levels, encoded);
  }
  return encoded;
}

const nothing = Buffer.alloc(0);

/**
 * An array of doubles, one by one. The writer's own `writeDoubles` and `writeArray` are compiled for the arrays of
 * forecasts: meeting others there, a frozen list of levels for one, would make every forecast slower.
 */
export function writeFew(target: AvroWriter, values: readonly number[]): void {
  if (values.length > 0) target.writeLong(values.length);
  for (const value of values) target.writeDouble(value);
  target.writeLong(0);
}
