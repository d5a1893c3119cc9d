import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { productVersion } from "../../../src/cli/version.ts";
import { projectRoot } from "../../rig/project.ts";

test("the version is the one that package.json states", () => {
  const { version } = JSON.parse(readFileSync(join(projectRoot, "package.json"), "utf8"));
  assert.equal(productVersion(), version);
  assert.match(version, /^\d+\.\d+\.\d+/);
});
