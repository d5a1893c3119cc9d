// Reads chosen fields of an Avro record straight from its bytes, by the writer's schema. Everything else is
// stepped over: never allocated, and never a reason to refuse (a 64-bit id beyond 2^53, say). Every length is
// checked against the bytes that are left, which avsc does not do: a forged array count keeps it busy until
// memory ends. So bytes also pass `compileBytesCheck` before avsc may see them.

import { AvroCursor, MalformedBytes } from "./avro-cursor.ts";
import { type AvroDefinition, type AvroSchema, fullName, namespaceOf } from "./avro-schema.ts";
import {
  arrayReader,
  enumReader,
  fixed,
  mapReader,
  pick,
  primitiveReaders,
  recordReader,
  type TypeReader,
  timestampReaders,
  unionReader,
} from "./avro-types.ts";

/** Reads the record at `start` and returns the values at the paths asked for; undefined where there is none. */
export type FieldReader = (buffer: Buffer, start: number) => readonly unknown[];

type Step = (cursor: AvroCursor, out: unknown[]) => void;

/** A path still to be walked, and the place of its value in the result. */
interface Wanted {
  readonly path: readonly string[];
  readonly place: number;
}

/** A definition, and the namespace in which the names inside it are meant. */
interface Scoped {
  readonly definition: AvroDefinition;
  readonly namespace: string;
}

/** Compiles a reader of the fields at the dotted paths. Throws if the schema is not a sound one. */
export function compileFieldReader(schema: AvroSchema, paths: readonly string[]): FieldReader {
  const wanted = paths.map((path, place) => ({ path: path.split("."), place }));
  const step = new SchemaCompiler().project(schema, "", wanted);
  return (buffer, start) => {
    const cursor = new AvroCursor(buffer, start);
    const out: unknown[] = new Array(paths.length).fill(undefined);
    step(cursor, out);
    requireEnd(cursor);
    return out;
  };
}

/** Compiles a check that the bytes from `start` on are one whole value of the schema and no more. */
export function compileBytesCheck(schema: AvroSchema): (buffer: Buffer, start: number) => void {
  const reader = new SchemaCompiler().compile(schema, "");
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
  readonly #definitionByName = new Map<string, Scoped>();
  readonly #readerByName = new Map<string, TypeReader>();

  compile(schema: AvroSchema, outer: string): TypeReader {
    if (Array.isArray(schema)) return unionReader(schema.map((branch) => this.compile(branch, outer)));
    const { definition, namespace } = this.#resolve(schema as string | AvroDefinition, outer);
    if (definition.name === undefined) return this.#build(definition, namespace);
    const name = fullName(definition.name, namespace);
    const known = this.#readerByName.get(name);
    if (known !== undefined) return known;
    // A type may hold itself, so its reader must have a name before it is built. Only behind the index of a
    // union or the count of an array can it do so, hence the one byte.
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

  /** Steps through a value and keeps what the wanted paths lead to. */
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
    if (type === "array" && items !== undefined) return arrayReader(this.compile(items, namespace));
    if (type === "map" && values !== undefined) return mapReader(this.compile(values, namespace));
    if (type === "enum" && symbols !== undefined) return enumReader(symbols);
    if (type === "fixed" && size !== undefined) return fixed(size);
    const timestamp = type === "long" ? timestampReaders.get(logicalType ?? "") : undefined;
    const primitive = timestamp ?? primitiveReaders.get(type as string);
    if (primitive === undefined) throw new Error(`not an Avro type: ${JSON.stringify(type)}`);
    return primitive;
  }

  /** Follows references and needless wrapping to a definition; remembers the ones that have a name. */
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
      throw new Error(`a union must stand by itself: ${JSON.stringify(schema)}`);
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
