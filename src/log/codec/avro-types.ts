// What to do with a value of each Avro type: step over it, or read it. One TypeReader per type of a schema,
// composed by `avro-reader.ts`.

import { type AvroCursor, MalformedBytes } from "./avro-cursor.ts";

export interface TypeReader {
  /** The fewest bytes a value can take: 0 only if `isFixed`. */
  readonly leastBytes: number;
  /** Whether every value takes just `leastBytes`. */
  readonly isFixed: boolean;
  skip(cursor: AvroCursor): void;
  /** Text, a number, a Date for a timestamp, or a list of these; undefined for what no observation needs. */
  read(cursor: AvroCursor): unknown;
}

const longReader = varying(
  (cursor) => cursor.readLong(),
  (cursor) => cursor.readLong(),
);
const textReader = varying(
  (cursor) => cursor.take(cursor.readLong()),
  (cursor) => cursor.readString(),
);
const bytesReader = varying((cursor) => cursor.take(cursor.readLong()));

export const primitiveReaders: ReadonlyMap<string, TypeReader> = new Map([
  ["null", fixed(0, () => null)],
  ["boolean", fixed(1)],
  ["int", longReader],
  ["long", longReader],
  ["float", fixed(4, (cursor) => cursor.readFloat())],
  ["double", fixed(8, (cursor) => cursor.readDouble())],
  ["bytes", bytesReader],
  ["string", textReader],
]);

/** Longs that are points in time, by logical type. A timestamp finer than a millisecond is rounded down. */
export const timestampReaders: ReadonlyMap<string, TypeReader> = new Map([
  ["timestamp-millis", timestamp(1)],
  ["timestamp-micros", timestamp(1e3)],
  ["timestamp-nanos", timestamp(1e6)],
]);

function timestamp(unitsPerMs: number): TypeReader {
  return { ...longReader, read: (cursor) => new Date(Math.floor(cursor.readLong() / unitsPerMs)) };
}

/** A type of constant size. */
export function fixed(bytes: number, read?: TypeReader["read"]): TypeReader {
  const skip = (cursor: AvroCursor) => {
    cursor.take(bytes);
  };
  return { leastBytes: bytes, isFixed: true, skip, read: read ?? skip };
}

/** A type of varying size. What has no `read` of its own is stepped over and reads as undefined. */
export function varying(step: (cursor: AvroCursor) => unknown, read?: TypeReader["read"]): TypeReader {
  const skip = (cursor: AvroCursor) => {
    step(cursor);
  };
  return { leastBytes: 1, isFixed: false, skip, read: read ?? skip };
}

export function enumReader(symbols: readonly string[]): TypeReader {
  return varying((cursor) => pick(symbols, cursor));
}

export function unionReader(branches: readonly TypeReader[]): TypeReader {
  return varying(
    (cursor) => pick(branches, cursor).skip(cursor),
    (cursor) => pick(branches, cursor).read(cursor),
  );
}

export function arrayReader(item: TypeReader): TypeReader {
  const skip = (cursor: AvroCursor) =>
    cursor.readBlocks(item.leastBytes, (count) => skipRun(item, count, cursor));
  // Items of no bytes could be announced by the billion: they are not worth reading.
  if (item.leastBytes === 0) return varying(skip);
  return varying(skip, (cursor) => {
    const items: unknown[] = [];
    cursor.readBlocks(item.leastBytes, (count) => {
      for (let i = 0; i < count; i++) items.push(item.read(cursor));
    });
    return items;
  });
}

export function mapReader(value: TypeReader): TypeReader {
  const entry = recordReader([textReader, value]);
  return varying((cursor) => cursor.readBlocks(entry.leastBytes, (count) => skipRun(entry, count, cursor)));
}

export function recordReader(fields: readonly TypeReader[]): TypeReader {
  const skip = (cursor: AvroCursor) => {
    for (const field of fields) field.skip(cursor);
  };
  const leastBytes = fields.reduce((sum, field) => sum + field.leastBytes, 0);
  return { leastBytes, isFixed: fields.every((field) => field.isFixed), skip, read: skip };
}

/** The entry that the index at the cursor names: a branch of a union or a symbol of an enum. */
export function pick<T>(entries: readonly T[], cursor: AvroCursor): T {
  const index = cursor.readLong();
  const entry = entries[index];
  if (entry === undefined) {
    throw new MalformedBytes(`index ${index} before byte ${cursor.position}, of ${entries.length} possible`);
  }
  return entry;
}

function skipRun(item: TypeReader, count: number, cursor: AvroCursor): void {
  if (item.isFixed) cursor.take(count * item.leastBytes);
  else for (let i = 0; i < count; i++) item.skip(cursor);
}
