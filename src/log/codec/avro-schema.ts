// The JSON form of an Avro schema, and the names in it. Does not read bytes.

export type AvroSchema = string | readonly AvroSchema[] | AvroDefinition;

export interface AvroDefinition {
  readonly type: AvroSchema;
  readonly name?: string;
  readonly namespace?: string;
  readonly doc?: string;
  readonly logicalType?: string;
  readonly fields?: readonly AvroField[];
  readonly items?: AvroSchema;
  readonly values?: AvroSchema;
  readonly symbols?: readonly string[];
  readonly size?: number;
  readonly default?: unknown;
  /** Our extension: the record is sent as text headers, each named by this prefix and the field. */
  readonly headerPrefix?: string;
}

export interface AvroField {
  readonly name: string;
  readonly type: AvroSchema;
  readonly doc?: string;
  readonly default?: unknown;
}

/** The schema with single precision in all arrays of doubles. A reader of the schema reads both. */
export function withFloats(schema: AvroSchema): AvroSchema {
  if (typeof schema === "string") return schema;
  if (isUnion(schema)) return schema.map(withFloats);
  const fields = schema.fields?.map((field) => ({ ...field, type: withFloats(field.type) }));
  const items = schema.items === "double" ? "float" : schema.items && withFloats(schema.items);
  const type = typeof schema.type === "string" ? schema.type : withFloats(schema.type);
  return { ...schema, type, ...(fields && { fields }), ...(items && { items }) };
}

function isUnion(schema: AvroSchema): schema is readonly AvroSchema[] {
  return Array.isArray(schema);
}

/** A name with its namespace. A name with a dot already includes its namespace. */
export function fullName(name: string, namespace: string): string {
  return name.includes(".") || namespace === "" ? name : `${namespace}.${name}`;
}

/** The namespace inside a definition that is nested in `outer`. */
export function namespaceOf(definition: AvroDefinition, outer: string): string {
  const dot = definition.name?.lastIndexOf(".") ?? -1;
  if (definition.name !== undefined && dot >= 0) return definition.name.slice(0, dot);
  return definition.namespace ?? outer;
}
