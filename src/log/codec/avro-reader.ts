// Reads chosen fields of an Avro record directly from its bytes, using the writer's schema. Other fields are skipped:
// they are never allocated and never a reason to refuse a record, such as a 64-bit id beyond 2^53.
//
// Trusts no length. Every length is checked against the remaining bytes, so work and memory are bounded by the bytes
// that exist. avsc does not check lengths, and a forged array count keeps it busy until memory runs out. Bytes must
// therefore pass `compileBytesCheck` before avsc reads them.

import { isUtf8 } from "node:buffer";
import { type AvroDefinition, type AvroSchema, fullName, namespaceOf } from "./avro-schema.ts";

/** Reads the record at `start` and returns the values at the requested paths; undefined for a path without a value. */
type FieldReader = (buffer: Buffer, start: number) => readonly unknown[];

type Step = (cursor: AvroCursor, out: unknown[]) => void;

/** The rest of a path, and the index of its value in the result. */
interface Wanted {
  readonly path: readonly string[];
  readonly place: number;
}

/** A definition and the namespace of the names inside it. */
interface Scoped {
  readonly definition: AvroDefinition;
  readonly namespace: string;
}

/**
 * Compiles a reader of the fields at the dotted paths. Of an array, it reads the first `mostItems`. Throws if the schema
 * is invalid.
 */
export function compileFieldReader(
  schema: AvroSchema,
  paths: readonly string[],
  mostItems = Number.POSITIVE_INFINITY,
): FieldReader {
  const wanted = paths.map((path, place) => ({ path: path.split("."), place }));
  const step = new SchemaCompiler(mostItems).project(schema, "", wanted);
  return (buffer, start) => {
    const cursor = new AvroCursor(buffer, start);
    const out: unknown[] = new Array(paths.length).fill(undefined);
    step(cursor, out);
    requireEnd(cursor);
    return out;
  };
}

/** Compiles a check that the bytes from `start` on are exactly one value of the schema. */
export function compileBytesCheck(schema: AvroSchema): (buffer: Buffer, start: number) => void {
  const reader = new SchemaCompiler(0).compile(schema, "");
  return (buffer, start) => {
    const cursor = new AvroCursor(buffer, start);
    reader.skip(cursor);
    requireEnd(cursor);
  };
}

function requireEnd(cursor: AvroCursor): void {
  if (cursor.remaining > 0) throw new MalformedBytes(`${cursor.remaining} bytes after the end of the value`);
}

class SchemaCompiler {
  readonly #mostItems: number;
  readonly #definitionByName = new Map<string, Scoped>();
  readonly #readerByName = new Map<string, TypeReader>();

  constructor(mostItems: number) {
    this.#mostItems = mostItems;
  }

  compile(schema: AvroSchema, outer: string): TypeReader {
    if (Array.isArray(schema)) return unionReader(schema.map((branch) => this.compile(branch, outer)));
    const { definition, namespace } = this.#resolve(schema as string | AvroDefinition, outer);
    if (definition.name === undefined) return this.#build(definition, namespace);
    const name = fullName(definition.name, namespace);
    const known = this.#readerByName.get(name);
    if (known !== undefined) return known;
    // A type may contain itself, so its reader must be registered before it is built. It can do so only after the
    // index of a union or the count of an array, hence the one byte.
    let built: TypeReader | undefined;
    this.#readerByName.set(name, {
      leastBytes: 1,
      isFixed: false,
      skip: (cursor) => built?.skip(cursor),
      read: (cursor) => built?.read(cursor),
    });
    built = this.#build(definition, namespace);
    this.#readerByName.set(name, built);
    return built;
  }

  /** Compiles a step that reads a value and stores the parts at the wanted paths. */
  project(schema: AvroSchema, outer: string, wanted: readonly Wanted[]): Step {
    if (Array.isArray(schema)) {
      const branches = schema.map((branch) => this.project(branch, outer, wanted));
      return (cursor, out) => pick(branches, cursor)(cursor, out);
    }
    const ends = wanted.filter(({ path }) => path.length === 0);
    const { definition, namespace } = this.#resolve(schema as string | AvroDefinition, outer);
    if (ends.length > 0 || wanted.length === 0 || definition.type !== "record") {
      return keep(this.compile(schema, outer), ends);
    }
    const steps = fieldsOf(definition).map(({ name, type }) => {
      const inside = wanted.filter(({ path }) => path[0] === name);
      const rest = inside.map(({ path, place }) => ({ path: path.slice(1), place }));
      return this.project(type, namespace, rest);
    });
    return (cursor, out) => {
      for (const step of steps) step(cursor, out);
    };
  }

  #build(definition: AvroDefinition, namespace: string): TypeReader {
    const { type, logicalType, items, values, symbols, size } = definition;
    if (type === "record" || type === "error") {
      return recordReader(fieldsOf(definition).map((field) => this.compile(field.type, namespace)));
    }
    if (type === "array" && items !== undefined)
      return arrayReader(this.compile(items, namespace), this.#mostItems);
    if (type === "map" && values !== undefined) return mapReader(this.compile(values, namespace));
    if (type === "enum" && symbols !== undefined) return enumReader(symbols);
    if (type === "fixed" && size !== undefined) return fixed(size);
    const timestamp = type === "long" ? timestampReaders.get(logicalType ?? "") : undefined;
    const primitive = timestamp ?? primitiveReaders.get(type as string);
    if (primitive === undefined) throw new Error(`${JSON.stringify(type)} is not an Avro type`);
    return primitive;
  }

  /** Follows references and redundant nesting to a definition. Remembers named definitions. */
  #resolve(schema: string | AvroDefinition, outer: string): Scoped {
    if (typeof schema === "string") {
      if (primitiveReaders.has(schema)) return { definition: { type: schema }, namespace: outer };
      const known = this.#definitionByName.get(fullName(schema, outer));
      if (known === undefined) throw new Error(`the type ${schema} is used but not defined`);
      return known;
    }
    const { type, name } = schema;
    if (name === undefined) {
      const isPlain =
        typeof type === "string" && (primitiveReaders.has(type) || ["array", "map"].includes(type));
      if (isPlain) return { definition: schema, namespace: outer };
      if (typeof type === "string" || !Array.isArray(type))
        return this.#resolve(type as AvroDefinition, outer);
      throw new Error(`a union must not be nested in a type: ${JSON.stringify(schema)}`);
    }
    const scoped = { definition: schema, namespace: namespaceOf(schema, outer) };
    this.#definitionByName.set(fullName(name, scoped.namespace), scoped);
    return scoped;
  }
}

function keep(reader: TypeReader, ends: readonly Wanted[]): Step {
  if (ends.length === 0) return (cursor) => reader.skip(cursor);
  return (cursor, out) => {
    const value = reader.read(cursor);
    for (const { place } of ends) out[place] = value;
  };
}

function fieldsOf(record: AvroDefinition): NonNullable<AvroDefinition["fields"]> {
  if (!Array.isArray(record.fields)) throw new Error(`the record ${record.name} has no fields`);
  return record.fields;
}

/** Skips or reads a value of one Avro type. */
interface TypeReader {
  /** The smallest size of a value; 0 only if `isFixed`. */
  readonly leastBytes: number;
  /** Whether every value has exactly `leastBytes`. */
  readonly isFixed: boolean;
  skip(cursor: AvroCursor): void;
  /** Text, a number, a Date for a timestamp, or a list of these; undefined for types that no observation needs. */
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

const primitiveReaders: ReadonlyMap<string, TypeReader> = new Map([
  ["null", fixed(0, () => null)],
  ["boolean", fixed(1)],
  ["int", longReader],
  ["long", longReader],
  ["float", fixed(4, (cursor) => cursor.readFloat())],
  ["double", fixed(8, (cursor) => cursor.readDouble())],
  ["bytes", bytesReader],
  ["string", textReader],
]);

/** Longs that are times, by logical type. Timestamps finer than a millisecond are rounded down. */
const timestampReaders: ReadonlyMap<string, TypeReader> = new Map([
  ["timestamp-millis", timestamp(1)],
  ["timestamp-micros", timestamp(1e3)],
  ["timestamp-nanos", timestamp(1e6)],
]);

function timestamp(unitsPerMs: number): TypeReader {
  return { ...longReader, read: (cursor) => new Date(Math.floor(cursor.readLong() / unitsPerMs)) };
}

/** A type of constant size. */
function fixed(bytes: number, read?: TypeReader["read"]): TypeReader {
  const skip = (cursor: AvroCursor) => {
    cursor.take(bytes);
  };
  return { leastBytes: bytes, isFixed: true, skip, read: read ?? skip };
}

/** A type of varying size. Without `read`, a value is skipped and reads as undefined. */
function varying(step: (cursor: AvroCursor) => unknown, read?: TypeReader["read"]): TypeReader {
  const skip = (cursor: AvroCursor) => {
    step(cursor);
  };
  return { leastBytes: 1, isFixed: false, skip, read: read ?? skip };
}

function enumReader(symbols: readonly string[]): TypeReader {
  return varying((cursor) => pick(symbols, cursor));
}

function unionReader(branches: readonly TypeReader[]): TypeReader {
  return varying(
    (cursor) => pick(branches, cursor).skip(cursor),
    (cursor) => pick(branches, cursor).read(cursor),
  );
}

/** Reads at most `mostItems` of an array and skips the rest. */
function arrayReader(item: TypeReader, mostItems = Number.POSITIVE_INFINITY): TypeReader {
  const skip = (cursor: AvroCursor) =>
    cursor.readBlocks(item.leastBytes, (count) => skipRun(item, count, cursor));
  // A count of items without bytes is unbounded, so such items are not read.
  if (item.leastBytes === 0) return varying(skip);
  return varying(skip, (cursor) => {
    const items: unknown[] = [];
    cursor.readBlocks(item.leastBytes, (count) => {
      const wanted = Math.min(count, mostItems - items.length);
      for (let i = 0; i < wanted; i++) items.push(item.read(cursor));
      skipRun(item, count - wanted, cursor);
    });
    return items;
  });
}

function mapReader(value: TypeReader): TypeReader {
  const entry = recordReader([textReader, value]);
  return varying((cursor) => cursor.readBlocks(entry.leastBytes, (count) => skipRun(entry, count, cursor)));
}

function recordReader(fields: readonly TypeReader[]): TypeReader {
  const skip = (cursor: AvroCursor) => {
    for (const field of fields) field.skip(cursor);
  };
  const leastBytes = fields.reduce((sum, field) => sum + field.leastBytes, 0);
  return { leastBytes, isFixed: fields.every((field) => field.isFixed), skip, read: skip };
}

/** The entry at the index under the cursor: a branch of a union or a symbol of an enum. */
function pick<T>(entries: readonly T[], cursor: AvroCursor): T {
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

/** The bytes do not match their schema. */
export class MalformedBytes extends Error {
  constructor(message: string) {
    super(message);
    this.name = "MalformedBytes";
  }
}

/** A position in Avro bytes. Throws MalformedBytes rather than read past the end. */
class AvroCursor {
  readonly buffer: Buffer;
  position: number;

  constructor(buffer: Buffer, position: number) {
    this.buffer = buffer;
    this.position = position;
  }

  get remaining(): number {
    return this.buffer.length - this.position;
  }

  /** Advances by `length` bytes and returns where they start. */
  take(length: number): number {
    const start = this.position;
    if (length < 0 || length > this.buffer.length - start) {
      throw new MalformedBytes(
        `${length} bytes declared at byte ${start}, ${this.buffer.length - start} left`,
      );
    }
    this.position = start + length;
    return start;
  }

  /** An int or a long: zigzag, seven bits per byte. Rounded beyond 2^53. */
  readLong(): number {
    let byte = this.buffer[this.take(1)];
    const isNegative = (byte & 1) === 1;
    let magnitude = (byte & 0x7f) >> 1;
    for (let weight = 64; byte >= 0x80; weight *= 128) {
      // Ten bytes hold 64 bits; the tenth has weight 2^62.
      if (weight > 2 ** 62) throw new MalformedBytes(`a number at byte ${this.position} is too long`);
      byte = this.buffer[this.take(1)];
      magnitude += (byte & 0x7f) * weight;
    }
    return isNegative ? -magnitude - 1 : magnitude;
  }

  readFloat(): number {
    return this.buffer.readFloatLE(this.take(4));
  }

  readDouble(): number {
    return this.buffer.readDoubleLE(this.take(8));
  }

  readString(): string {
    const length = this.readLong();
    const start = this.take(length);
    const text = this.buffer.toString("utf8", start, start + length);
    // Invalid UTF-8 is read as U+FFFD, and two different ids could become one.
    if (text.includes("\ufffd") && !isUtf8(this.buffer.subarray(start, start + length))) {
      throw new MalformedBytes(`the text at byte ${start} is not UTF-8`);
    }
    return text;
  }

  /**
   * Reads an array or map block by block. `items` is called with a count that the remaining bytes can hold, or with any
   * count if an item may have no bytes (`leastBytes` 0).
   */
  readBlocks(leastBytes: number, items: (count: number) => void): void {
    for (let count = this.readLong(); count !== 0; count = this.readLong()) {
      // A negative count is followed by the size of the block in bytes.
      const size = count < 0 ? this.readLong() : -1;
      const start = this.position;
      const length = Math.abs(count);
      if (length * leastBytes > this.remaining) {
        throw new MalformedBytes(`${length} items declared at byte ${start}, ${this.remaining} bytes left`);
      }
      items(length);
      if (size >= 0 && this.position !== start + size) {
        throw new MalformedBytes(`a block of ${size} bytes at byte ${start} has another size`);
      }
    }
  }
}
