// The Kafka log fulfils its contract on every supported version of Node, on a real broker.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { brokerForTests, sharedBrokerVariable } from "../rig/kafka-broker.ts";
import { needsOtherNodes, otherNodeVersions, runNode } from "../rig/other-nodes.ts";
import { compiledTests } from "../rig/project.ts";

const needed = await needsOtherNodes();

for (const version of otherNodeVersions) {
  test(`the Kafka log passes its contract on Node ${version}`, { ...needed, timeout: 280_000 }, async () => {
    process.env[sharedBrokerVariable] = await brokerForTests();
    const file = join(compiledTests, "contract/kafka-log.test.js");
    const flags = ["--enable-source-maps", "--test", "--test-reporter=tap"];
    const { code, output } = await runNode(version, [...flags, file], 270_000);
    assert.equal(
      code,
      0,
      output
        .split("\n")
        .filter((line) => /not ok|error:/.test(line))
        .join("\n"),
    );
    assert.ok(Number(/^# pass (\d+)$/m.exec(output)?.[1]) > 20, output.slice(-500));
  });
}
