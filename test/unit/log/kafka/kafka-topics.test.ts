import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { KnownTopics } from "../../../../src/log/kafka/kafka-topics.ts";
import { topicFacts } from "./topic-facts.ts";

function open(existing: readonly string[] = ["x", "y"]) {
  const cluster = { nowMs: 1_000_000, maxMessageBytes: 1_000, asked: [] as string[] };
  const known = new KnownTopics(
    async (topics) => {
      cluster.asked.push(topics.join());
      const found = topics.filter((topic) => existing.includes(topic));
      return found.map((topic) => topicFacts(topic, { maxMessageBytes: cluster.maxMessageBytes }));
    },
    { nowMs: () => cluster.nowMs },
  );
  return { cluster, known };
}

describe("the cached facts of a topic", () => {
  test("are requested once, however long ago", async () => {
    const { cluster, known } = open();
    await known.find("x");
    cluster.nowMs += 3_600_000;
    await known.find("x");
    assert.deepEqual(cluster.asked, ["x"]);
  });

  test("are requested again for a refresh, but not within ten seconds, and are cached", async () => {
    const { cluster, known } = open();
    await known.find("x");
    cluster.maxMessageBytes = 5_000;
    cluster.nowMs += 9_999;
    assert.equal((await known.find("x", { refresh: true })).maxMessageBytes, 1_000);
    cluster.nowMs += 1;
    assert.equal((await known.find("x", { refresh: true })).maxMessageBytes, 5_000);
    assert.equal((await known.find("x", { refresh: true })).maxMessageBytes, 5_000);
    assert.equal((await known.find("x")).maxMessageBytes, 5_000);
    assert.deepEqual(cluster.asked, ["x", "x"]);
    await known.find("y", { refresh: true });
    assert.deepEqual(cluster.asked, ["x", "x", "y"], "each topic has its own ten seconds");
  });

  test("come from the last description of the topic", async () => {
    const { cluster, known } = open();
    await known.find("x");
    cluster.maxMessageBytes = 5_000;
    await known.describe(["x", "y"]);
    assert.equal((await known.find("x")).maxMessageBytes, 5_000);
    assert.equal((await known.find("y")).maxMessageBytes, 5_000);
    assert.deepEqual(cluster.asked, ["x", "x,y"]);
  });

  test("do not exist for a missing topic", async () => {
    await assert.rejects(open([]).known.find("x"), {
      code: "TOPIC_MISSING",
      message: "topic x does not exist",
    });
  });
});
