import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { tableUpkeep, upkeepSettings, upkeepWarningOf } from "../../../src/log/table-upkeep.ts";
import { topicFacts } from "./kafka/topic-facts.ts";
import {
  checkTopics,
  checkTrainerTopics,
  inputs,
  logWith,
  names,
  roomy,
  table,
} from "./topic-check-fixture.ts";

/** Of a topic that somebody creates with nothing but cleanup.policy=compact. */
const brokerDefaults = {
  "segment.bytes": "1073741824",
  "segment.ms": "604800000",
  "min.cleanable.dirty.ratio": "0.5",
  "delete.retention.ms": "86400000",
  "min.compaction.lag.ms": "0",
};

describe("the cleaning of compacted topics", () => {
  test("topics that a worker creates cause no warning", async () => {
    const log = await logWith(...inputs);
    assert.deepEqual((await checkTopics(log, names, true)).warnings, []);
    for (const { topic, compacted, settings } of await log.describeTopics(["state", "models", "attempts"])) {
      assert.ok(compacted);
      assert.deepEqual(Object.keys(settings).sort(), [...upkeepSettings].sort(), topic);
    }
  });

  test("a segment has room for the largest record of its topic", () => {
    assert.equal(tableUpkeep(1_048_588)["segment.bytes"], String(16 * 2 ** 20));
    assert.equal(tableUpkeep(30_000_000)["segment.bytes"], "30000000");
    const facts = { compacted: true, maxMessageBytes: 100_000_000 };
    const settings = tableUpkeep(facts.maxMessageBytes);
    assert.equal(upkeepWarningOf(topicFacts("a", { ...facts, settings })), null);
  });

  test("a broker's defaults cause a warning that names each setting, its value and the remedy", () => {
    const facts = topicFacts("state", { compacted: true, settings: brokerDefaults });
    assert.equal(
      upkeepWarningOf(facts),
      "topic state has segment.bytes=1073741824, segment.ms=604800000, delete.retention.ms=86400000: outdated records " +
        "stay long, and a restore reads them all: kafka-configs --alter --entity-type topics --entity-name state " +
        "--add-config segment.bytes=16777216,segment.ms=300000,delete.retention.ms=3600000",
    );
  });

  for (const [setting, fine, late] of [
    ["segment.bytes", "67108864", "67108865"],
    ["segment.ms", "3600000", "3600001"],
    ["min.cleanable.dirty.ratio", "0.5", "0.51"],
    ["delete.retention.ms", "21600000", "21600001"],
    ["min.compaction.lag.ms", "3600000", "3600001"],
  ] as const) {
    test(`${setting} above ${fine} causes a warning`, () => {
      const warningAt = (value: string) =>
        upkeepWarningOf(
          topicFacts("a", {
            compacted: true,
            settings: { ...brokerDefaults, ...tableUpkeep(1), [setting]: value },
          }),
        );
      assert.equal(warningAt(fine), null);
      assert.match(String(warningAt(late)), new RegExp(`^topic a has ${setting}=${late}: `));
    });
  }

  test("workers and trainers start on topics that are cleaned late, with a warning for each that is restored", async () => {
    const late = (topic: string) => ({ ...table(topic), settings: { ...roomy, ...brokerDefaults } });
    const log = await logWith(...inputs, late("state"), late("models"), late("attempts"), late("events"));
    const { warnings } = await checkTopics(log, names, true);
    assert.deepEqual(
      warnings.map((warning) => /^topic (\S+) has segment/.exec(warning)?.[1]),
      ["state", "models", "attempts"],
    );
    assert.equal((await checkTrainerTopics(log, names, false)).warnings.length, 2);
  });
});
