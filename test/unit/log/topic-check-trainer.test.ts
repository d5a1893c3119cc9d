import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  checkTopics,
  checkTrainerTopics,
  inputs,
  logWith,
  models,
  names,
  plain,
  table,
  training,
} from "./topic-check-fixture.ts";

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
