// The docs tell the truth about the code, as far as a machine can check it.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import type { AvroDefinition } from "../../src/log/codec/avro-schema.ts";
import { schemaVersions } from "../../src/log/codec/schemas.generated.ts";
import { loadConfig } from "../../src/runtime/config/load.ts";
import { hostileRecords, hostileTable } from "../integrity/support/hostile-records.ts";
import { projectRoot } from "../rig/project.ts";

const read = (path: string): string => readFileSync(join(projectRoot, path), "utf8");
const pages = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
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

test("each walk through the code counts the files that it names, and is short", () => {
  const sections = read("docs/architecture.md").split(/^## /m);
  const walks = sections.filter((section) => section.startsWith("Walk "));
  const counts = walks.map((walk) => {
    const stated = Number(/, (\d+) files\n/.exec(walk)?.[1]);
    // A link in parentheses is a pointer aside, not a file to open.
    const files = new Set(
      walk.match(/^\|.*\| (.*) \|$/gm)?.flatMap(
        (row) =>
          row
            .split(" | ")
            .at(-1)
            ?.match(/\]\([^)]+\)/g) ?? [],
      ),
    );
    return { stated, named: files.size };
  });
  assert.equal(counts[0].named, counts[0].stated);
  assert.equal(counts[1].named + counts[0].named - 2, counts[1].stated, "without the cold tier's two");
  assert.equal(counts[2].named, counts[2].stated);
  assert.deepEqual(
    counts.map(({ stated }, i) => stated <= [25, 40, 25][i]),
    [true, true, true],
  );
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

test("the table of hostile records is the one that the tests send", () => {
  assert.ok(hostileRecords.length >= 25);
  const page = read("docs/hostile-records.md");
  assert.ok(
    page.includes(`\n\n${hostileTable()}\n\n`),
    `docs/hostile-records.md must hold:\n${hostileTable()}`,
  );
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
