// The docs tell the truth about the code, as far as a machine can check it.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import type { AvroDefinition } from "../../src/log/codec/avro-schema.ts";
import { schemaVersions } from "../../src/log/codec/schemas.generated.ts";
import { loadConfig } from "../../src/runtime/config/load.ts";
import { projectRoot } from "../rig/project.ts";

const read = (path: string): string => readFileSync(join(projectRoot, path), "utf8");
const pages = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "deploy/README.md",
  "helm/README.md",
  ...readdirSync(join(projectRoot, "docs"), { recursive: true })
    .map((name) => join("docs", String(name)))
    .filter((path) => path.endsWith(".md")),
];

test("every link between the pages leads to a file", () => {
  const broken = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g)]
      .map(([, target = ""]) => target)
      .filter((target) => !existsSync(join(projectRoot, dirname(page), target)))
      .map((target) => `${page}: ${target}`),
  );
  assert.deepEqual(broken, []);
});

test("the example configuration is valid", () => {
  const path = join(projectRoot, "deploy/forecastnet.example.yaml");
  const config = loadConfig({ argv: [`--config=${path}`], env: {} });
  assert.equal(config.series.overrides.length, 1);
});

test("every npm script the pages name exists", () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const named = pages.flatMap((page) => [...read(page).matchAll(/npm run (?:--silent )?([\w:]+)/g)]);
  const missing = named.map(([, name = ""]) => name).filter((name) => !(name in scripts));
  assert.ok(named.length > 0);
  assert.deepEqual(missing, []);
});

test("the test command of the readme is the one that CI runs", () => {
  const [, command] = /^(npm ci && npm test)\b/m.exec(read("README.md")) ?? [];
  assert.ok(command !== undefined);
  assert.ok(read(".ci/run").split("\n").includes(command));
});

test("the forecast in the readme has the fields of the schema, in their order", () => {
  const [, example] = /<!-- forecast example -->\n```json\n([\s\S]*?)```/.exec(read("README.md")) ?? [];
  const schema = schemaVersions.Forecast.at(-1) as AvroDefinition;
  const fields = schema.fields?.map(({ name }) => name);
  assert.deepEqual(Object.keys(JSON.parse(example ?? "{}")), fields);
});

test("every metric the operations page names is declared", () => {
  const declared = read("src/runtime/metric-table.ts");
  const named = [...read("docs/operations.md").matchAll(/`forecastnet_(\w+)`/g)].map(([, name = ""]) => name);
  assert.ok(named.length > 0);
  assert.deepEqual(
    named.filter((name) => !declared.includes(`"${name}"`)),
    [],
  );
});
