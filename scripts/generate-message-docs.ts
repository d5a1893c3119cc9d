// Generates docs/messages.md from the Avro schemas: every message on the wire, field by field. Pure.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { AvroDefinition, AvroField, AvroSchema } from "../src/log/codec/avro-schema.ts";

const onTheWire = [
  ["Observation", "Sensors write it to an input topic with `format: avro`. Keyed by series id."],
  ["Forecast", "Subscribers read it from the forecast topic. Keyed by series id."],
  ["DeadLetter", "The headers of a dead letter. Key, value and headers of the refused record are preserved."],
  ["StateBlock", "Internal, on the state topic. Keyed by series id and block."],
] as const;

const introduction = `# Messages

<!-- Generated from schemas/*.avsc. Change those and run \`npm run generate\`. -->

The worker writes Avro messages in Avro's single-object encoding: the two bytes \`C3 01\`, the eight-byte fingerprint
(CRC-64-AVRO, little-endian) of the schema, then the body. Forecasts have one of two schemas: \`schemas/Forecast.avsc\` with doubles, or
\`schemas/single/Forecast.avsc\`, the same with floats, which halves their size. Find the schema by its fingerprint and resolve it to \`Forecast.avsc\`,
which reads both. With \`output.precision: double\` all forecasts have the first schema, and a reader may skip the first ten bytes.
With \`output.format: confluent\` a forecast starts with the five bytes of the registry instead. With \`json\` it is a JSON
object with the same field names and ISO 8601 times.

The worker reads observations as a bare Avro body or as a single object (\`avro\`), with the five bytes of the registry and
any record schema (\`confluent\`), or as JSON (\`json\`). In the last two formats, configured paths locate the fields.

Schemas evolve compatibly. Every released version is stored under \`schemas/history/\` and stays readable.
`;

export function generateMessageDocs(root: string): Map<string, string> {
  const sections = onTheWire.map(([name, use]) => {
    const schema = JSON.parse(readFileSync(join(root, "schemas", `${name}.avsc`), "utf8")) as AvroDefinition;
    return `## ${name}\n\n${use} ${schema.doc ?? ""}\n\n${tablesOf(schema)}`;
  });
  return new Map([["docs/messages.md", [introduction, ...sections].join("\n")]]);
}

/** The table of the record, then one for each nested record. */
function tablesOf(record: AvroDefinition): string {
  const inner: AvroDefinition[] = [];
  const rows = (record.fields ?? []).map((field) => rowOf(field, inner));
  const table = ["| field | type | meaning |", "| --- | --- | --- |", ...rows].join("\n");
  const details = inner.map((each) => `\n### ${each.name}\n\n${each.doc ?? ""}\n\n${tablesOf(each)}`);
  return `${table}\n${details.join("")}`;
}

function rowOf(field: AvroField, inner: AvroDefinition[]): string {
  const fallback = "default" in field ? ` Default: \`${JSON.stringify(field.default)}\`.` : "";
  return `| \`${field.name}\` | ${typeName(field.type, inner)} | ${field.doc ?? ""}${fallback} |`;
}

function typeName(schema: AvroSchema, inner: AvroDefinition[]): string {
  if (typeof schema === "string") return schema;
  if (isUnion(schema)) return schema.map((branch) => typeName(branch, inner)).join(" or ");
  if (schema.logicalType !== undefined) return schema.logicalType;
  if (schema.type === "array") return `array of ${typeName(schema.items ?? "null", inner)}`;
  if (schema.type === "map") return `map of ${typeName(schema.values ?? "null", inner)}`;
  if (schema.type === "enum") return (schema.symbols ?? []).map((symbol) => `\`${symbol}\``).join(", ");
  if (schema.type !== "record") return String(schema.type);
  inner.push(schema);
  return schema.name ?? "record";
}

function isUnion(schema: AvroSchema): schema is readonly AvroSchema[] {
  return Array.isArray(schema);
}
