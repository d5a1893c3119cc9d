import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Log, TopicSpec } from "../../../src/log/log.ts";
import { createMemoryLog } from "../../../src/log/memory-log.ts";
import type { LargestRecords } from "../../../src/log/topic-check.ts";
import * as check from "../../../src/log/topic-check.ts";

const names = {
  inputs: ["a", "b"],
  forecasts: "forecasts",
  state: "state",
  models: "models",
  deadLetters: "dead",
  events: "events",
  training: "training",
  attempts: "attempts",
};
const largest: LargestRecords = {
  forecast: { leastBytes: 20_000, mostBytes: 900_000, what: "a forecast" },
  state: { leastBytes: 5_000, mostBytes: 800_000, what: "a series" },
  deadLetter: { leastBytes: 16_384, mostBytes: 1_000_000, what: "a dead letter" },
};
const checkTopics = (log: Log, given: typeof names, mayCreate: boolean) =>
  check.checkTopics(log, given, mayCreate, largest);
const checkTrainerTopics = (log: Log, given: typeof names, mayCreate: boolean) =>
  check.checkTrainerTopics(log, given, mayCreate, largest.deadLetter);

const roomy = { "max.message.bytes": "6000000" };
const plain = (topic: string, partitions: number): TopicSpec => ({ topic, partitions, compacted: false });
const table = (topic: string, partitions = 5): TopicSpec => ({ topic, partitions, compacted: true });
const inputs = [plain("a", 2), plain("b", 5)];
const models = { ...table("models"), settings: roomy };
const training = { ...plain("training", 5), settings: roomy };

async function logWith(...topics: readonly TopicSpec[]) {
  const log = createMemoryLog();
  await log.createTopics(topics);
  return log;
}

describe("a trainer's topics", () => {
  const others = [models, table("attempts"), plain("events", 2), plain("dead", 9)];

  test("are those that a worker has created", async () => {
    const log = await logWith(...inputs);
    await checkTopics(log, names, true);
    assert.deepEqual(await checkTrainerTopics(log, names, false), {
      warnings: [],
      trainingPartitions: 5,
      eventPartitions: 5,
      ...{ deadLetterPartitions: 5, deadLetterBytes: 16 * 2 ** 20 },
    });
  });

  test("may have any width if they hold events or dead letters", async () => {
    const log = await logWith(training, ...others);
    assert.deepEqual(await checkTrainerTopics(log, names, false), {
      warnings: [],
      trainingPartitions: 5,
      eventPartitions: 2,
      ...{ deadLetterPartitions: 9, deadLetterBytes: 1_048_588 },
    });
  });

  test("are awaited and never created if a worker may still create them", async () => {
    const log = await logWith(...others);
    await assert.rejects(checkTrainerTopics(log, names, true), {
      code: "TOPIC_AWAITED",
      message: "topic training does not exist yet: a worker creates it when it starts",
    });
    assert.deepEqual(await log.describeTopics(["training"]), []);
  });

  test("are reported as missing if nobody creates them", async () => {
    const log = await logWith(training, models, plain("events", 2));
    await assert.rejects(checkTrainerTopics(log, names, false), {
      code: "TOPIC_AWAITED",
      message:
        "topic dead, attempts does not exist: create it as a worker requests at its start, or set " +
        "kafka.createTopics for the workers",
    });
  });

  test("are refused if their widths differ, they are not tables or they lack room", async () => {
    const log = await logWith(
      ...[plain("events", 2), plain("dead", 9), plain("training", 5)],
      ...[table("models", 3), plain("attempts", 4)],
    );
    await assert.rejects(checkTrainerTopics(log, names, true), ({ code, message }) => {
      assert.equal(code, "TOPIC_AWAITED");
      const problems = String(message).split("; ");
      assert.equal(problems.length, 5, message);
      assert.match(
        problems[0],
        /^topic models has 3 partitions and must have 5, as many as training: kafka-topics/,
      );
      assert.match(problems[1], /^topic models has max.message.bytes=1048588/);
      assert.match(
        problems[2],
        /^topic attempts has 4 partitions and must have 5, as many as training: kafka-topics/,
      );
      assert.match(problems[3], /^topic attempts has cleanup.policy=delete and must have exactly compact/);
      assert.match(problems[4], /^topic training has max.message.bytes=1048588/);
      return true;
    });
  });
});
