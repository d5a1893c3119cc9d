// Turns Avro schemas into TypeScript functions that write their records with an AvroWriter, field by field in the
// order of the schema. Refuses what no record of the hot path has: maps, booleans, and unions other than null or
// one type.

import type { AvroDefinition, AvroSchema } from "../src/log/codec/avro-schema.ts";
import { interfaceName } from "./schema-typescript.ts";

/** Named types met so far: how a value of each is written, and what must be declared for that. */
interface Scope {
  /** By Avro name: the statement that writes the value of an expression. */
  readonly statementByName: Map<string, (value: string) => string>;
  /** By TypeScript name of the type, inner ones first. */
  readonly declarationByType: Map<string, string>;
}

const methodByPrimitive: Readonly<Record<string, string>> = {
  int: "writeLong",
  long: "writeLong",
  double: "writeDouble",
  string: "writeString",
  bytes: "writeBytes",
};

/** A module with one exported function per record: `writeForecast(writer, record)`. */
export function renderWriters(records: readonly AvroDefinition[]): string {
  const scope: Scope = { statementByName: new Map(), declarationByType: new Map() };
  for (const record of records) declareRecord(record, scope, "export ");
  const types = [...scope.declarationByType.keys()].sort();
  return [
    "// Made from schemas/*.avsc by `npm run generate`. Do not edit.\n",
    'import type { AvroWriter, Writable } from "./avro-writer.ts";',
    `import type {\n${types.map((type) => `  ${type},\n`).join("")}} from "./schemas.generated.ts";\n`,
    ...scope.declarationByType.values(),
  ].join("\n");
}

/** The statements that write one value. Adds to the scope what they need. */
function statementsOf(schema: AvroSchema, value: string, scope: Scope): string[] {
  if (typeof schema === "string") return [primitiveOrNamed(schema, value, scope)];
  if (Array.isArray(schema)) return nullableStatements(schema, value, scope);
  const definition = schema as AvroDefinition;
  switch (definition.type) {
    case "array":
      return arrayStatements(definition.items ?? "null", value, scope);
    case "enum":
      return [declareEnum(definition, scope)(value)];
    case "record":
      return [declareRecord(definition, scope)(value)];
    default:
      return statementsOf(definition.type, value, scope);
  }
}

function primitiveOrNamed(name: string, value: string, scope: Scope): string {
  const method = methodByPrimitive[name];
  if (method !== undefined) return `writer.${method}(${value});`;
  const statement = scope.statementByName.get(name);
  if (statement === undefined) throw new Error(`no writer can be made for the type ${name}`);
  return statement(value);
}

function nullableStatements(branches: readonly AvroSchema[], value: string, scope: Scope): string[] {
  const branch = branches.indexOf("null");
  if (branches.length !== 2 || branch < 0) {
    throw new Error(
      `no writer can be made for the union ${JSON.stringify(branches)}; only for null or one type`,
    );
  }
  const statements = [
    `writer.writeLong(${1 - branch});`,
    ...statementsOf(branches[1 - branch], value, scope),
  ];
  return [
    `if (${value} === null) writer.writeLong(${branch});`,
    "else {",
    ...statements.map((statement) => `  ${statement}`),
    "}",
  ];
}

/** Doubles are the bulk of a forecast and have a method of their own. */
function arrayStatements(items: AvroSchema, value: string, scope: Scope): string[] {
  if (items === "double") return [`writer.writeDoubles(${value});`];
  const statements = statementsOf(items, "item", scope);
  if (statements.length !== 1) throw new Error("no writer can be made for an array of unions or of arrays");
  return [
    `writer.beginArray(${value}.length);`,
    `for (const item of ${value}) ${statements[0]}`,
    "writer.endArray();",
  ];
}

function declareEnum({ name = "", symbols = [] }: AvroDefinition, scope: Scope): (value: string) => string {
  const constant = `${name[0].toLowerCase()}${name.slice(1)}Indices`;
  const indices = symbols.map((symbol, index) => `${symbol}: ${index}`).join(", ");
  const type = `${name}Symbol`;
  scope.declarationByType.set(
    type,
    `const ${constant}: Readonly<Record<${type}, number>> = { ${indices} };\n`,
  );
  return keep(name, (value) => `writer.writeLong(${constant}[${value}]);`, scope);
}

function declareRecord(
  { name = "", fields = [] }: AvroDefinition,
  scope: Scope,
  modifier = "",
): (value: string) => string {
  const statements = fields.flatMap((field) => statementsOf(field.type, `record.${field.name}`, scope));
  const body = statements.map((statement) => `  ${statement}\n`).join("");
  const type = interfaceName(name);
  scope.declarationByType.set(
    type,
    `${modifier}function write${name}(writer: AvroWriter, record: Writable<${type}>): void {\n${body}}\n`,
  );
  return keep(name, (value) => `write${name}(writer, ${value});`, scope);
}

function keep(
  name: string,
  statement: (value: string) => string,
  { statementByName }: Scope,
): (value: string) => string {
  statementByName.set(name, statement);
  return statement;
}
