import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { generateConfigDocs } from "../../../../scripts/generate-config-docs.ts";
import { environmentName, settings } from "../../../../src/runtime/config/settings.ts";

test("docs/configuration.md is up to date (`npm run generate` writes it)", () => {
  for (const [path, content] of generateConfigDocs()) {
    assert.equal(readFileSync(path, "utf8"), content);
  }
});

test("docs/configuration.md lists every key with its own variable", () => {
  const page = [...generateConfigDocs().values()].join();
  const variables = [...settings.keys()].map(environmentName);
  assert.equal(new Set(variables).size, settings.size);
  for (const name of [...settings.keys(), ...variables]) {
    assert.ok(page.includes(`\`${name}\``), name);
  }
  assert.ok(variables.includes("FORECASTNET_KAFKA_SESSION_TIMEOUT_MS"));
});

test("every default is valid", () => {
  for (const [key, { format, default: fallback }] of settings) {
    assert.deepEqual(format.flaws(fallback), [], key);
  }
});
