// Makes the program's view of the schemas: `schemas/*.avsc` in, TypeScript out (types, constants, writers), so that
// nothing is read from disk at run time. Also maintains the history: a schema whose wire form differs from the
// newest version under `schemas/history/<Record>/` becomes the next version there. Subscribers get the schema of forecasts
// in single precision, too. Returns the files; writes none.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type AvroDefinition, withFloats } from "../src/log/codec/avro-schema.ts";
import { declarationsOf, interfaceName } from "./schema-typescript.ts";
import { renderWriters } from "./schema-writers.ts";

/** Records written for every forecast or observation of a fleet. avsc writes all others. */
const hotPathRecords: readonly string[] = ["Forecast", "KeptForecast", "LiveState"];

interface VersionedSchema {
  readonly name: string;
  readonly current: AvroDefinition;
  /** Oldest first; the last one is `current`. */
  readonly versions: readonly AvroDefinition[];
}

/** The nearest folder at or above `from` that holds a package.json. */
export function findProjectRoot(from: string): string {
  if (existsSync(join(from, "package.json"))) return from;
  const parent = dirname(from);
  if (parent === from) {
    throw new Error("no package.json in this folder or above: run the script inside the project");
  }
  return findProjectRoot(parent);
}

/** All files made from the schemas: content by path relative to `root`. */
export function generateSchemas(root: string): Map<string, string> {
  const files = new Map<string, string>();
  const schemas: VersionedSchema[] = [];
  for (const file of avscFiles(join(root, "schemas"))) {
    const text = readFileSync(join(root, "schemas", file), "utf8");
    const name = file.slice(0, -".avsc".length);
    const older = readHistory(root, name);
    const current = JSON.parse(text) as AvroDefinition;
    const newest = older.at(-1);
    // A change of documentation alone keeps the wire form and refreshes the newest version in place.
    if (newest !== undefined && wireForm(newest) === wireForm(current)) older.pop();
    files.set(`schemas/history/${name}/${older.length + 1}.avsc`, text);
    schemas.push({ name, current, versions: [...older, current] });
  }
  const forecast = schemas.find(({ name }) => name === "Forecast");
  if (forecast !== undefined)
    files.set("schemas/single/Forecast.avsc", `${JSON.stringify(withFloats(forecast.current), null, 2)}\n`);
  files.set("src/log/codec/schemas.generated.ts", renderModule(schemas));
  const written = schemas.filter(({ name }) => hotPathRecords.includes(name));
  files.set("src/log/codec/writers.generated.ts", renderWriters(written.map(({ current }) => current)));
  return files;
}

function avscFiles(folder: string): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".avsc"))
    .sort();
}

function readHistory(root: string, name: string): AvroDefinition[] {
  const folder = join(root, "schemas", "history", name);
  const versions = existsSync(folder) ? avscFiles(folder).length : 0;
  return Array.from({ length: versions }, (_, index) => {
    const path = join(folder, `${index + 1}.avsc`);
    if (!existsSync(path)) throw new Error(`${path} is missing: versions are numbered from 1 without gaps`);
    return JSON.parse(readFileSync(path, "utf8")) as AvroDefinition;
  });
}

/** The schema without annotations, which do not affect the bytes or the fingerprint. */
function wireForm(schema: AvroDefinition): string {
  const annotations = new Set(["doc", "default", "aliases", "logicalType", "headerPrefix"]);
  return JSON.stringify(schema, (key, value) => (annotations.has(key) ? undefined : value));
}

function renderModule(schemas: readonly VersionedSchema[]): string {
  const map = schemas.map(({ name }) => `  readonly ${name}: ${interfaceName(name)};\n`).join("");
  const versions = schemas.map(renderVersions).join("");
  return [
    "// Made from schemas/*.avsc and schemas/history/ by `npm run generate`. Do not edit.\n",
    'import type { AvroSchema } from "./avro-schema.ts";\n',
    ...mergeDeclarations(schemas),
    `export interface RecordByName {\n${map}}\n`,
    "export type RecordName = keyof RecordByName;\n",
    `/** Every version of every record, oldest first; the last one is written. */\nexport const schemaVersions: Readonly<Record<RecordName, readonly AvroSchema[]>> = {\n${versions}};\n`,
    ...schemas.map(({ current }) => renderHeaders(current)).filter((text) => text !== ""),
  ].join("\n");
}

function renderVersions({ name, versions }: VersionedSchema): string {
  const indented = versions.map((version) => JSON.stringify(version, null, 2).replaceAll("\n", "\n    "));
  return `  ${name}: [\n${indented.map((text) => `    ${text},\n`).join("")}  ],\n`;
}

/** Several schemas may define a type if they define it alike; it gets one declaration. */
function mergeDeclarations(schemas: readonly VersionedSchema[]): string[] {
  const merged = new Map<string, string>();
  for (const { name, current } of schemas) {
    for (const { type, text } of declarationsOf(current).values()) {
      if ((merged.get(type) ?? text) !== text) {
        throw new Error(
          `schemas/${name}.avsc defines ${type} differently from another schema: rename one of them`,
        );
      }
      merged.set(type, text);
    }
  }
  return [...merged.values()];
}

function renderHeaders(record: AvroDefinition): string {
  if (record.headerPrefix === undefined || record.name === undefined) return "";
  const constant = `${record.name[0].toLowerCase()}${record.name.slice(1)}HeaderNames`;
  const names = (record.fields ?? []).map(({ name }) => `  ${name}: "${record.headerPrefix}${name}",\n`);
  const type = `Record<keyof ${interfaceName(record.name)}, string>`;
  return `/** ${record.name} travels as these headers, each as text. */\nexport const ${constant} = {\n${names.join("")}} as const satisfies ${type};\n`;
}
