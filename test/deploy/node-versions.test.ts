// The product runs on every supported version of Node: these tests start the versions that the test run itself does not
// use. Tests with a broker are in test/integrity/node-versions.test.ts.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { readDockerfile, restOf } from "../rig/dockerfile.ts";
import { needsOtherNodes, nodeVersions, otherNodeVersions, runNode } from "../rig/other-nodes.ts";
import { compiledTests, projectRoot } from "../rig/project.ts";

const needed = await needsOtherNodes();
const commandLine = join(compiledTests, "../src/cli/main.js");

/** Tests that depend on the JavaScript engine, streams, sockets, threads and TLS. */
const files = [
  "contract/memory-log",
  "golden/simd",
  "unit/log/codec/observation-fuzz",
  "unit/log/codec/registry",
  "unit/log/kafka/sasl/login",
  "unit/runtime/http-connections",
  "unit/runtime/http",
  "unit/runtime/http-changes",
  "unit/runtime/http-request",
  "unit/engine/threads/threaded-engine",
  "pipeline/exactly-once",
  "pipeline/retraining",
].map((name) => join(compiledTests, `${name}.test.js`));

test("the tested versions are the oldest supported one and that of the images", () => {
  const [oldest, newest] = nodeVersions.map((version) => version.split(".")[0]);
  const { engines } = JSON.parse(readFileSync(join(projectRoot, "package.json"), "utf8"));
  assert.equal(engines.node, `>=${oldest}`);
  for (const file of ["deploy/docker/Dockerfile", "deploy/docker/Dockerfile.gpu"]) {
    assert.match(restOf(readDockerfile(file), "ARG")[0], new RegExp(`^NODE_IMAGE=node:${newest}-`), file);
  }
  assert.equal(readFileSync(join(projectRoot, ".nvmrc"), "utf8").trim(), newest);
  const workflow = readFileSync(join(projectRoot, ".github/workflows/test.yml"), "utf8");
  assert.ok(workflow.includes(`node: [${oldest}, ${newest}]`), "the workflow tests both versions");
});

for (const version of otherNodeVersions) {
  describe(`on Node ${version}`, needed, () => {
    test("the demo forecasts and counts every observation once", async () => {
      const { code, output } = await runNode(version, [
        commandLine,
        "demo",
        "--seconds=4",
        "--plain",
        "--port=0",
      ]);
      assert.equal(code, 0, output);
      assert.match(output, /every observation was counted once/);
      assert.match(output, /[1-9][\d,]* forecasts made, .* 0 of them twice/);
    });

    test("tests of every kind pass", { timeout: 280_000 }, async () => {
      const flags = ["--enable-source-maps", "--test", "--test-reporter=tap"];
      const { code, output } = await runNode(version, [...flags, ...files], 270_000);
      assert.equal(
        code,
        0,
        output
          .split("\n")
          .filter((line) => /not ok|error:/.test(line))
          .join("\n"),
      );
      const passed = Number(/^# pass (\d+)$/m.exec(output)?.[1]);
      assert.ok(passed > 60, `only ${passed} tests passed`);
    });
  });
}
