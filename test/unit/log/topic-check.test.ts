import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TopicSpec } from "../../../src/log/log.ts";
import { createMemoryLog } from "../../../src/log/memory-log.ts";
import { checkTopics, checkTrainerTopics } from "../../../src/log/topic-check.ts";

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

describe("a worker's topics", () => {
  test("what is missing is created, as wide as the widest input, with room for large records", async () => {
    const log = await logWith(...inputs);
    assert.deepEqual(await checkTopics(log, names, true), {
      partitions: 5,
      forecastPartitions: 5,
      deadLetterPartitions: 5,
      eventPartitions: 5,
      ...{ modelBytes: 16 * 2 ** 20, trainingBytes: 16 * 2 ** 20 },
      trainingPartitions: 5,
    });
    const { inputs: _, ...ours } = names;
    const facts = await log.describeTopics(Object.values(ours));
    assert.deepEqual(
      facts.map(({ topic, partitions, compacted, maxMessageBytes }) => [
        ...[topic, partitions, compacted, maxMessageBytes > 10_000_000],
      ]),
      [
        ["forecasts", 5, false, false],
        ["state", 5, true, true],
        ["models", 5, true, true],
        ["dead", 5, false, true],
        ["events", 5, false, false],
        ["training", 5, false, true],
        ["attempts", 5, true, true],
      ],
    );
    await checkTopics(log, names, false);
  });

  test("what we only write is taken as it is: narrower, wider or compacted", async () => {
    const log = await logWith(
      ...[...inputs, table("state"), models, training, table("attempts")],
      ...[plain("forecasts", 1), plain("dead", 9), table("events", 2)],
    );
    assert.deepEqual(await checkTopics(log, names, false), {
      partitions: 5,
      forecastPartitions: 1,
      deadLetterPartitions: 9,
      eventPartitions: 2,
      ...{ modelBytes: 6_000_000, trainingBytes: 6_000_000 },
      trainingPartitions: 5,
    });
  });

  test("an input is never created, since its partitions are not ours to choose", async () => {
    const log = await logWith(plain("a", 2));
    await assert.rejects(checkTopics(log, names, true), {
      code: "TOPIC_AWAITED",
      message: "input topic b does not exist: create it first",
    });
    assert.deepEqual(await log.describeTopics(["b", "state"]), []);
  });

  test("all problems are told at once, each with what to do", async () => {
    const log = await logWith(
      ...inputs,
      plain("state", 2),
      { ...models, partitions: 3 },
      table("training", 4),
    );
    await assert.rejects(checkTopics(log, names, false), {
      code: "TOPIC_AWAITED",
      message: [
        "topic forecasts does not exist: create it (5 partitions) or set kafka.createTopics",
        "topic dead does not exist: create it (5 partitions) or set kafka.createTopics",
        "topic events does not exist: create it (5 partitions) or set kafka.createTopics",
        "topic attempts does not exist: create it (5 partitions, cleanup.policy=compact) or set kafka.createTopics",
        "topic state has 2 partitions and must have 5, as many as a, b",
        "topic state is not compacted: set cleanup.policy=compact on it",
        "topic models has 3 partitions and must have 5, as many as a, b",
        "topic training has 4 partitions and must have 5, as many as a, b",
        "topic training is compacted: set cleanup.policy=delete on it",
        "topic training has max.message.bytes=1048588 and must have at least 5242880, room for a model and its " +
          "predecessor: kafka-configs --alter --entity-type topics --entity-name training --add-config " +
          "max.message.bytes=16777216",
      ].join("; "),
    });
    await assert.rejects(checkTopics(log, names, true), {
      code: "TOPIC_AWAITED",
      message: /^topic state has 2/,
    });
  });

  test("a topic created as the message says passes the check", async () => {
    const log = await logWith(...inputs);
    const message = await checkTopics(log, names, false).then(String, ({ message }) => message as string);
    const asked = [...message.matchAll(/topic (\S+) does not exist: create it \((\d+) partitions(.*?)\)/g)];
    for (const [, topic, partitions, settings] of asked) {
      const room = /max\.message\.bytes=(\d+)/.exec(settings)?.[1];
      const compacted = settings.includes("cleanup.policy=compact");
      const setting = room === undefined ? {} : { settings: { "max.message.bytes": room } };
      await log.createTopics([{ topic, partitions: Number(partitions), compacted, ...setting }]);
    }
    assert.equal(asked.length, 7);
    await checkTopics(log, names, false);
  });

  for (const small of [table("models"), plain("training", 5)]) {
    test(`a ${small.topic} topic with a broker's default limit is refused, just enough is not`, async () => {
      const check = async (bytes: number) => {
        const log = await logWith(...inputs, { ...small, settings: { "max.message.bytes": String(bytes) } });
        await checkTopics(log, names, true);
      };
      await assert.rejects(check(1_048_588), {
        code: "TOPIC_AWAITED",
        message: new RegExp(`^topic ${small.topic} has max.message.bytes=1048588 and must have at least`),
      });
      await assert.rejects(check(5 * 1024 * 1024 - 1), { code: "TOPIC_AWAITED" });
      await check(5 * 1024 * 1024);
    });
  }
});

describe("a trainer's topics", () => {
  const others = [models, table("attempts"), plain("events", 2), plain("dead", 9)];

  test("are those that a worker has created", async () => {
    const log = await logWith(...inputs);
    await checkTopics(log, names, true);
    assert.deepEqual(await checkTrainerTopics(log, names, false), {
      trainingPartitions: 5,
      eventPartitions: 5,
      deadLetterPartitions: 5,
    });
  });

  test("events and dead letters may have any width", async () => {
    const log = await logWith(training, ...others);
    assert.deepEqual(await checkTrainerTopics(log, names, false), {
      trainingPartitions: 5,
      eventPartitions: 2,
      deadLetterPartitions: 9,
    });
  });

  test("are awaited, never created, where a worker may still create them", async () => {
    const log = await logWith(...others);
    await assert.rejects(checkTrainerTopics(log, names, true), {
      code: "TOPIC_AWAITED",
      message: "topic training does not exist yet: a worker creates it when it starts",
    });
    assert.deepEqual(await log.describeTopics(["training"]), []);
  });

  test("are told as missing where nobody creates them", async () => {
    const log = await logWith(training, models, plain("events", 2));
    await assert.rejects(checkTrainerTopics(log, names, false), {
      code: "TOPIC_AWAITED",
      message:
        "topic dead, attempts does not exist: create it as a worker asks for it when it starts, or set " +
        "kafka.createTopics for the workers",
    });
  });

  test("are refused when they disagree in width, are not tables or have no room", async () => {
    const log = await logWith(
      ...[plain("events", 2), plain("dead", 9), plain("training", 5)],
      ...[table("models", 3), plain("attempts", 4)],
    );
    await assert.rejects(checkTrainerTopics(log, names, true), ({ code, message }) => {
      assert.equal(code, "TOPIC_AWAITED");
      const problems = String(message).split("; ");
      assert.equal(problems.length, 5, message);
      assert.equal(problems[0], "topic models has 3 partitions and must have 5, as many as training");
      assert.match(problems[1], /^topic models has max.message.bytes=1048588/);
      assert.match(problems[2], /^topic training has max.message.bytes=1048588/);
      assert.equal(problems[3], "topic attempts has 4 partitions and must have 5, as many as training");
      assert.equal(problems[4], "topic attempts is not compacted: set cleanup.policy=compact on it");
      return true;
    });
  });
});
