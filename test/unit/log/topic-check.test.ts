import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TopicFacts } from "../../../src/log/log.ts";
import * as check from "../../../src/log/topic-check.ts";
import { replicationWarnings } from "../../../src/log/topic-check.ts";
import {
  checkTopics,
  inputs,
  largest,
  logWith,
  models,
  names,
  plain,
  roomy,
  table,
  training,
} from "./topic-check-fixture.ts";

const partitionsByInput = new Map([
  ["a", 2],
  ["b", 5],
]);

describe("a worker's topics", () => {
  test("missing topics are created, as wide as the widest input, with room for large records", async () => {
    const log = await logWith(...inputs);
    assert.deepEqual(await checkTopics(log, names, true), {
      partitions: 5,
      partitionsByInput,
      warnings: [],
      forecastPartitions: 5,
      ...{ deadLetterPartitions: 5, deadLetterBytes: 16 * 2 ** 20 },
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

  test("topics that we only write may be narrower, wider or compacted", async () => {
    const log = await logWith(
      ...[...inputs, table("state"), models, training, table("attempts")],
      ...[plain("forecasts", 1), plain("dead", 9), table("events", 2)],
    );
    assert.deepEqual(await checkTopics(log, names, false), {
      partitions: 5,
      partitionsByInput,
      warnings: [],
      forecastPartitions: 1,
      ...{ deadLetterPartitions: 9, deadLetterBytes: 1_048_588 },
      eventPartitions: 2,
      ...{ modelBytes: 6_000_000, trainingBytes: 6_000_000 },
      trainingPartitions: 5,
    });
  });

  test("an input is never created, because its partitions are not ours to choose", async () => {
    const log = await logWith(plain("a", 2));
    await assert.rejects(checkTopics(log, names, true), {
      code: "TOPIC_AWAITED",
      message: "input topic b does not exist: create it first",
    });
    assert.deepEqual(await log.describeTopics(["b", "state"]), []);
  });

  test("all problems are reported at once, each with its remedy", async () => {
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
        "topic state has 2 partitions and must have 5, as many as a, b: kafka-topics --alter --topic state --partitions 5, " +
          "or `forecastnet topics create`, or set kafka.createTopics",
        "topic state has cleanup.policy=delete and must have exactly compact, so that only outdated values are " +
          "removed: kafka-configs --alter --entity-type topics --entity-name state --add-config cleanup.policy=compact",
        "topic models has 3 partitions and must have 5, as many as a, b: kafka-topics --alter --topic models --partitions " +
          "5, or `forecastnet topics create`, or set kafka.createTopics",
        "topic training has 4 partitions and must have 5, as many as a, b: kafka-topics --alter --topic training " +
          "--partitions 5, or `forecastnet topics create`, or set kafka.createTopics",
        "topic training has cleanup.policy=compact and must have exactly delete, so that every record is kept: " +
          "kafka-configs --alter --entity-type topics --entity-name training --add-config cleanup.policy=delete",
        "topic training has max.message.bytes=1048588 and needs 5242880, room for a model and its " +
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

  test("our own topics are widened if an input has gained partitions, except those that we only write", async () => {
    const log = await logWith(...inputs);
    await checkTopics(log, names, true);
    await log.addPartitions("a", 8);
    await assert.rejects(checkTopics(log, names, false), {
      code: "TOPIC_AWAITED",
      message: /^topic state has 5/,
    });
    assert.equal((await checkTopics(log, names, true)).partitions, 8);
    const { inputs: _, ...ours } = names;
    const widths = (await log.describeTopics(Object.values(ours))).map(({ topic, partitions }) => [
      topic,
      partitions,
    ]);
    assert.deepEqual(Object.fromEntries(widths), {
      ...{ forecasts: 5, dead: 5, events: 5 },
      ...{ state: 8, models: 8, training: 8, attempts: 8 },
    });
  });

  test("a narrow topic that is otherwise unfit is not widened, because it may be somebody else's", async () => {
    const log = await logWith(...inputs, plain("state", 2));
    await assert.rejects(checkTopics(log, names, true), { message: /^topic state has 2 partitions/ });
    assert.equal((await log.describeTopics(["state"]))[0].partitions, 2);
  });

  test("a table that also deletes by age is refused, because it would lose state", async () => {
    const settings = { "cleanup.policy": "compact,delete" };
    for (const topic of ["state", "models", "attempts"]) {
      const log = await logWith(...inputs, { ...table(topic), settings: { ...roomy, ...settings } });
      await assert.rejects(checkTopics(log, names, true), {
        code: "TOPIC_AWAITED",
        message: new RegExp(
          `^topic ${topic} has cleanup.policy=compact,delete and must have exactly compact`,
        ),
      });
    }
  });

  test("a compacted dead-letter topic is refused, because it accepts no record without a key", async () => {
    const log = await logWith(...inputs, table("dead"));
    await assert.rejects(checkTopics(log, names, true), {
      message: /^topic dead has cleanup.policy=compact and must have exactly delete/,
    });
  });

  test("a compacted input causes a warning", async () => {
    const log = await logWith(table("a", 2), plain("b", 5));
    const { warnings } = await checkTopics(log, names, true);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0], /^input topic a has cleanup.policy=compact: compaction may remove/);
  });

  for (const [topic, { leastBytes, mostBytes, what }] of [
    ["forecasts", largest.forecast],
    ["state", largest.state],
    ["dead", largest.deadLetter],
  ] as const) {
    test(`a ${topic} topic without room for ${what} is refused, and one without room for the largest causes a warning`, async () => {
      const warningsAt = async (bytes: number) => {
        const settings = { "max.message.bytes": String(bytes) };
        const log = await logWith(...inputs, {
          ...(topic === "state" ? table(topic) : plain(topic, 5)),
          settings,
        });
        return (await checkTopics(log, names, true)).warnings;
      };
      await assert.rejects(warningsAt(leastBytes - 1), {
        code: "TOPIC_AWAITED",
        message: new RegExp(
          `^topic ${topic} has max.message.bytes=${leastBytes - 1} and needs ${leastBytes}`,
        ),
      });
      assert.match(
        (await warningsAt(leastBytes)).join(),
        new RegExp(`needs ${mostBytes}, room for ${what}: kafka-`),
      );
      assert.equal((await warningsAt(mostBytes - 1)).length, 1);
      assert.deepEqual(await warningsAt(mostBytes), []);
    });
  }

  test("topics are created with room for the largest records that the configuration allows", async () => {
    const log = await logWith(...inputs);
    const room = { leastBytes: 1, mostBytes: 20 * 2 ** 20 + 1, what: "much" };
    const many = { forecast: room, state: room, deadLetter: room };
    assert.deepEqual((await check.checkTopics(log, names, true, many)).warnings, []);
    for (const { maxMessageBytes } of await log.describeTopics(["forecasts", "state", "dead"]))
      assert.equal(maxMessageBytes, 21 * 2 ** 20);
  });

  for (const small of [table("models"), plain("training", 5)]) {
    test(`a ${small.topic} topic with a broker's default limit is refused, and one with just enough is not`, async () => {
      const check = async (bytes: number) => {
        const log = await logWith(...inputs, { ...small, settings: { "max.message.bytes": String(bytes) } });
        await checkTopics(log, names, true);
      };
      await assert.rejects(check(1_048_588), {
        code: "TOPIC_AWAITED",
        message: new RegExp(`^topic ${small.topic} has max.message.bytes=1048588 and needs 5242880`),
      });
      await assert.rejects(check(5 * 1024 * 1024 - 1), { code: "TOPIC_AWAITED" });
      await check(5 * 1024 * 1024);
    });
  }
});

describe("the replication of topics", () => {
  const facts = (topic: string, replicationFactor: number, minInsyncReplicas: number): TopicFacts => ({
    ...{ topic, partitions: 1, compacted: false, cleanupPolicy: "delete", maxMessageBytes: 1 },
    ...{ replicationFactor, minInsyncReplicas, settings: {} },
  });

  test("with three replicas, two of them in sync, causes no warning", () => {
    assert.deepEqual(replicationWarnings([facts("a", 3, 2), facts("b", 5, 3)]), []);
  });

  for (const [replicationFactor, minInsyncReplicas, warned] of [
    [1, 1, [/^topic a with a replication factor below 3/]],
    [2, 1, [/^topic a with a replication factor below 3/]],
    [2, 2, [/^topic a with a replication factor below 3/, /^topic a with min.insync.replicas equal/]],
    [3, 1, [/^topic a with min.insync.replicas below 2/]],
    [3, 3, [/^topic a with min.insync.replicas equal to the replication factor/]],
  ] as const) {
    test(`with ${replicationFactor} replicas and ${minInsyncReplicas} in sync causes a warning`, () => {
      const warnings = replicationWarnings([facts("a", replicationFactor, minInsyncReplicas)]);
      assert.equal(warnings.length, warned.length, warnings.join());
      for (const [i, pattern] of warned.entries()) assert.match(warnings[i], pattern);
    });
  }

  test("is reported once for all topics that share a risk", () => {
    const [warning, ...more] = replicationWarnings([facts("a", 1, 1), facts("b", 3, 2), facts("c", 2, 1)]);
    assert.deepEqual(more, []);
    assert.match(warning, /^topics a, c with a replication factor below 3/);
  });
});
