import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import avro from "avsc";
import { findProjectRoot, generateSchemas } from "../../../scripts/generate-schemas.ts";
import type { AvroDefinition, AvroSchema } from "../../../src/log/codec/avro-schema.ts";
import { type RecordName, schemaVersions } from "../../../src/log/codec/schemas.generated.ts";

const root = findProjectRoot(dirname(fileURLToPath(import.meta.url)));
const names = readdirSync(join(root, "schemas"))
  .filter((file) => file.endsWith(".avsc"))
  .map((file) => file.slice(0, -".avsc".length)) as RecordName[];

/** Subscribers may keep an older schema: new records of these must stay readable by it. */
const forwardCompatible: readonly RecordName[] = ["Forecast", "ModelEvent", "Observation"];

function undocumented(schema: AvroSchema, path: string): string[] {
  if (typeof schema === "string") return [];
  if (Array.isArray(schema)) return schema.flatMap((branch) => undocumented(branch, path));
  const { type, name, doc, items, values, fields = [] } = schema as AvroDefinition;
  const missing = name !== undefined && !doc ? [`${path} (${name})`] : [];
  for (const field of fields) {
    if (!field.doc) missing.push(`${path}.${field.name}`);
    missing.push(...undocumented(field.type, `${path}.${field.name}`));
  }
  for (const inner of [items, values, typeof type === "string" ? undefined : type]) {
    if (inner !== undefined) missing.push(...undocumented(inner, path));
  }
  return missing;
}

function typeOf(schema: AvroSchema): avro.Type {
  return avro.Type.forSchema(schema as avro.Schema);
}

/** A copy of the schemas that a test may change. */
function copySchemas(context: TestContext): string {
  const copy = mkdtempSync(join(tmpdir(), "forecastnet-schemas-"));
  context.after(() => rmSync(copy, { recursive: true }));
  cpSync(join(root, "schemas"), join(copy, "schemas"), { recursive: true });
  return copy;
}

function editObservation(copy: string, edit: (text: string) => string): void {
  const path = join(copy, "schemas", "Observation.avsc");
  writeFileSync(path, edit(readFileSync(path, "utf8")));
}

describe("the schemas", () => {
  for (const name of names) {
    const versions = schemaVersions[name];
    const current = versions.at(-1) as AvroDefinition;

    test(`${name} documents itself and each of its fields and types`, () => {
      assert.equal(current.name, name);
      assert.equal(current.namespace, "forecastnet");
      assert.deepEqual(undocumented(current, name), []);
    });

    test(`${name} reads every older version${forwardCompatible.includes(name) ? " and is read by it" : ""}`, () => {
      for (const older of versions) {
        assert.ok(typeOf(current).createResolver(typeOf(older)));
        if (forwardCompatible.includes(name)) assert.ok(typeOf(older).createResolver(typeOf(current)));
      }
    });
  }

  test("every file made from them is up to date", () => {
    for (const [path, content] of generateSchemas(root)) {
      assert.equal(readFileSync(join(root, path), "utf8"), content, `${path} is stale: npm run generate`);
    }
  });

  test("the newest version in the history is the current one, and no history is without a schema", () => {
    assert.deepEqual(readdirSync(join(root, "schemas", "history")).sort(), [...names].sort());
    for (const name of names) {
      const folder = join(root, "schemas", "history", name);
      const newest = readFileSync(join(folder, `${readdirSync(folder).length}.avsc`), "utf8");
      assert.equal(newest, readFileSync(join(root, "schemas", `${name}.avsc`), "utf8"));
    }
  });
});

describe("the generator", () => {
  test("keeps the old version when the wire form changes", (context) => {
    const copy = copySchemas(context);
    const before = schemaVersions.Observation.length;
    editObservation(copy, (text) =>
      text.replace(
        '"fields": [',
        '"fields": [ { "name": "unit", "type": "string", "default": "", "doc": "U." },',
      ),
    );
    const files = generateSchemas(copy);
    assert.match(files.get(`schemas/history/Observation/${before + 1}.avsc`) ?? "", /"unit"/);
    assert.equal(
      files.has(`schemas/history/Observation/${before}.avsc`),
      false,
      "the old one is not touched",
    );
    assert.match(files.get("src/log/codec/schemas.generated.ts") ?? "", / {2}readonly unit: string;/);
  });

  test("refreshes the newest version when only the documentation changes", (context) => {
    const copy = copySchemas(context);
    editObservation(copy, (text) => text.replace("Never empty.", "Never, ever empty."));
    const newest = `schemas/history/Observation/${schemaVersions.Observation.length}.avsc`;
    assert.match(generateSchemas(copy).get(newest) ?? "", /Never, ever empty/);
  });

  test("refuses a history with a gap and two types of one name", (context) => {
    const copy = copySchemas(context);
    const folder = join(copy, "schemas", "history", "Observation");
    cpSync(join(folder, "1.avsc"), join(folder, "99.avsc"));
    assert.throws(() => generateSchemas(copy), /without gaps/);
    rmSync(join(folder, "99.avsc"));
    const other = { type: "record", name: "Point", doc: "Another.", fields: [] };
    writeFileSync(join(copy, "schemas", "Point.avsc"), JSON.stringify(other));
    assert.throws(() => generateSchemas(copy), /defines PointRecord differently/);
  });

  test("finds the project from any folder below it", (context) => {
    const below = join(copySchemas(context), "a", "b");
    mkdirSync(below, { recursive: true });
    writeFileSync(join(below, "..", "package.json"), "{}");
    assert.equal(findProjectRoot(below), dirname(below));
  });
});
