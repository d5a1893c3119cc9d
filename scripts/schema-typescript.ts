// Turns Avro schemas into TypeScript: one interface per record, one union of literals per enum.

import type { AvroDefinition, AvroField, AvroSchema } from "../src/log/codec/avro-schema.ts";

const primitives: Readonly<Record<string, string>> = {
  null: "null",
  boolean: "boolean",
  int: "number",
  long: "number",
  float: "number",
  double: "number",
  bytes: "Buffer",
  string: "string",
};

/** The name of the interface of a record: Forecast → ForecastRecord, ModelRecord → ModelRecord. */
export function interfaceName(record: string): string {
  return record.endsWith("Record") ? record : `${record}Record`;
}

export interface Declaration {
  /** The TypeScript name. */
  readonly type: string;
  readonly text: string;
}

/** Declarations of a record and of every type defined in it, by Avro name, inner types first. */
export function declarationsOf(record: AvroDefinition): Map<string, Declaration> {
  const declarations = new Map<string, Declaration>();
  declare(record, declarations);
  return declarations;
}

/** Adds the declarations of a schema and returns the TypeScript type of its values. */
function declare(schema: AvroSchema, into: Map<string, Declaration>): string {
  if (typeof schema === "string") {
    const type = primitives[schema] ?? into.get(schema)?.type;
    if (type === undefined) throw new Error(`the type ${schema} is used before it is defined`);
    return type;
  }
  if (Array.isArray(schema)) return schema.map((branch) => declare(branch, into)).join(" | ");
  const definition = schema as AvroDefinition;
  switch (definition.type) {
    case "array":
      return `readonly ${parenthesise(declare(definition.items ?? "null", into))}[]`;
    case "map":
      return `Readonly<Record<string, ${declare(definition.values ?? "null", into)}>>`;
    case "enum":
      return declareEnum(definition, into);
    case "record":
      return declareRecord(definition, into);
    default:
      return declare(definition.type, into);
  }
}

function declareEnum(definition: AvroDefinition, into: Map<string, Declaration>): string {
  const name = definition.name ?? "";
  const type = `${name}Symbol`;
  const symbols = (definition.symbols ?? []).map((symbol) => JSON.stringify(symbol));
  into.set(name, {
    type,
    text: `${comment(definition.doc, "")}export type ${type} = ${symbols.join(" | ")};\n`,
  });
  return type;
}

function declareRecord(definition: AvroDefinition, into: Map<string, Declaration>): string {
  const name = definition.name ?? "";
  const type = interfaceName(name);
  const fields = (definition.fields ?? []).map((field) => declareField(field, into));
  into.set(name, {
    type,
    text: `${comment(definition.doc, "")}export interface ${type} {\n${fields.join("")}}\n`,
  });
  return type;
}

function declareField(field: AvroField, into: Map<string, Declaration>): string {
  const type = declare(field.type, into);
  return `${comment(field.doc, "  ")}  readonly ${field.name}: ${type};\n`;
}

function parenthesise(type: string): string {
  return type.includes(" ") ? `(${type})` : type;
}

function comment(doc: string | undefined, indent: string): string {
  return doc === undefined ? "" : `${indent}/** ${doc} */\n`;
}
