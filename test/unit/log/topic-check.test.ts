import assert from "node:assert/strict";
import { test } from "node:test";
import type { TopicSpec } from "../../../src/log/log.ts";
import { createMemoryLog } from "../../../src/log/memory-log.ts";
import { checkTopics } from "../../../src/log/topic-check.ts";

const names = {
  ...{ inputs: ["a", "b"], forecasts: "forecasts", state: "state", models: "models", deadLetters: "dead" },
};
const plain = (topic: string, partitions: number): TopicSpec => ({ topic, partitions, compacted: false });
const inputs = [plain("a", 2), plain("b", 5)];

async function logWith(...topics: readonly TopicSpec[]) {
  const log = createMemoryLog();
  await log.createTopics(topics);
  return log;
}

test("what is missing is created, as wide as the widest input, with room for large records", async () => {
  const log = await logWith(...inputs);
  assert.deepEqual(await checkTopics(log, names, true), {
    partitions: 5,
    forecastPartitions: 5,
    deadLetterPartitions: 5,
  });
  const facts = await log.describeTopics(["forecasts", "state", "models", "dead"]);
  assert.deepEqual(
    facts.map(({ topic, partitions, compacted, maxMessageBytes }) => [
      ...[topic, partitions, compacted, maxMessageBytes > 10_000_000],
    ]),
    [
      ["forecasts", 5, false, false],
      ["state", 5, true, true],
      ["models", 5, true, true],
      ["dead", 5, false, true],
    ],
  );
});

test("what exists is taken as it is: forecasts and dead letters may be narrower or wider", async () => {
  const table = (topic: string) => ({ topic, partitions: 5, compacted: true });
  const log = await logWith(
    ...inputs,
    table("state"),
    table("models"),
    plain("forecasts", 1),
    plain("dead", 9),
  );
  assert.deepEqual(await checkTopics(log, names, false), {
    partitions: 5,
    forecastPartitions: 1,
    deadLetterPartitions: 9,
  });
});

test("an input is never created, since its partitions are not ours to choose", async () => {
  const log = await logWith(plain("a", 2));
  await assert.rejects(checkTopics(log, names, true), {
    code: "TOPIC_MISSING",
    message: "input topic b does not exist: create it first",
  });
  assert.deepEqual(await log.describeTopics(["b", "state"]), []);
});

test("all problems are told at once, each with what to do", async () => {
  const log = await logWith(...inputs, plain("state", 2), { ...plain("models", 3), compacted: true });
  await assert.rejects(checkTopics(log, names, false), {
    code: "TOPIC_MISSING",
    message: [
      "topic forecasts does not exist: create it (5 partitions) or set kafka.createTopics",
      "topic dead does not exist: create it (5 partitions) or set kafka.createTopics",
      "topic state has 2 partitions and must have 5, as many as a, b",
      "topic state is not compacted: set cleanup.policy=compact on it",
      "topic models has 3 partitions and must have 5, as many as a, b",
    ].join("; "),
  });
  await assert.rejects(checkTopics(log, names, true), { code: "TOPIC_UNFIT", message: /^topic state has 2/ });
});
