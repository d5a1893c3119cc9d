// Generated files are kept in the repository, so that they can be read and reviewed; they must not drift from
// what they are generated from.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { generatedFiles } from "../../scripts/generated-files.ts";
import { filesBelow, projectRoot } from "../rig/project.ts";

const expectedByPath = generatedFiles(projectRoot);

describe("generated files", () => {
  for (const [path, expected] of expectedByPath) {
    test(`${path} is up to date`, () => {
      const file = join(projectRoot, path);
      const isCurrent = existsSync(file) && readFileSync(file, "utf8") === expected;
      assert.ok(isCurrent, `${path} differs from what its generator gives: run \`npm run generate\``);
    });
  }

  test("each has a generator", () => {
    const orphans = filesBelow("src").filter(
      (path) => path.endsWith(".generated.ts") && !expectedByPath.has(path),
    );
    assert.deepEqual(orphans, [], "no generator writes these any more: delete them");
  });
});
