// Topics: created, described, written to and read back byte for byte.
import assert from "node:assert/strict";
import type { StoredRecord } from "../../../src/log/log.ts";
import { type ContractTest, isCoded, numbered, record, texts, until } from "../contract-bench.ts";

export function topicContract(contractTest: ContractTest): void {
  contractTest("describes those topics that exist, as they were created", async (bench) => {
    const settings = { "max.message.bytes": "2000000" };
    const table = await bench.createTopic("table", { partitions: 3, compacted: true, settings });
    const plain = await bench.createTopic("plain", { partitions: 2 });
    const described = await bench.log.describeTopics([table, bench.name("absent"), plain]);
    for (const { replicationFactor, minInsyncReplicas } of described) {
      assert.ok(replicationFactor >= 1 && minInsyncReplicas >= 1, "each topic states its replicas");
    }
    assert.deepEqual(
      described.map(({ replicationFactor: _, minInsyncReplicas: __, settings: ___, ...facts }) => facts),
      [
        {
          topic: table,
          partitions: 3,
          compacted: true,
          cleanupPolicy: "compact",
          maxMessageBytes: 2_000_000,
        },
        {
          topic: plain,
          partitions: 2,
          compacted: false,
          cleanupPolicy: "delete",
          maxMessageBytes: 1_048_588,
        },
      ],
    );
  });

  contractTest(
    "describes a cleanup policy of two parts, and how many replicas must be in sync",
    async (bench) => {
      const settings = { "cleanup.policy": "compact,delete", "min.insync.replicas": "4" };
      const topic = await bench.createTopic("both", { settings });
      const [facts] = await bench.log.describeTopics([topic]);
      assert.deepEqual(
        [facts.compacted, facts.cleanupPolicy, facts.minInsyncReplicas],
        [true, "compact,delete", 4],
      );
    },
  );

  contractTest("describes how a topic is cleaned", async (bench) => {
    const settings = { "segment.ms": "300000", "min.cleanable.dirty.ratio": "0.2" };
    const topic = await bench.createTopic("cleaned", { compacted: true, settings });
    const [facts] = await bench.log.describeTopics([topic]);
    assert.equal(facts.settings["segment.ms"], "300000");
    assert.equal(Number(facts.settings["min.cleanable.dirty.ratio"]), 0.2);
    assert.equal(facts.settings["max.message.bytes"], undefined);
  });

  contractTest(
    "widens a topic, keeps its records, and accepts records in its new partitions",
    async (bench) => {
      const topic = await bench.createTopic("grown", { partitions: 2 });
      await bench.log.append([record(topic, "k", "kept", 1)]);
      await bench.log.addPartitions(topic, 4);
      const [facts] = await bench.log.describeTopics([topic]);
      assert.equal(facts.partitions, 4);
      // A client that has written to it before, and one that has not.
      await bench.log.append([record(topic, "k", "new", 2)]);
      await bench.secondLog.append([record(topic, "k", "newer", 3)]);
      const records = await bench.readAll(topic);
      assert.deepEqual(records.map(({ partition, value }) => [partition, String(value)]).sort(), [
        [1, "kept"],
        [2, "new"],
        [3, "newer"],
      ]);
    },
  );

  contractTest("does not change a topic that is already as wide or wider", async (bench) => {
    const topic = await bench.createTopic("wide", { partitions: 3 });
    await bench.log.addPartitions(topic, 3);
    await bench.log.addPartitions(topic, 2);
    const [facts] = await bench.log.describeTopics([topic]);
    assert.equal(facts.partitions, 3);
  });

  contractTest("widens a topic once if several callers do so at the same time", async (bench) => {
    const topic = await bench.createTopic("raced", { partitions: 1 });
    await Promise.all([bench.log, bench.secondLog, bench.log].map((log) => log.addPartitions(topic, 3)));
    const [facts] = await bench.log.describeTopics([topic]);
    assert.equal(facts.partitions, 3);
  });

  contractTest("does not widen a topic that does not exist, and names it", async (bench) => {
    const topic = bench.name("absent");
    await assert.rejects(
      bench.log.addPartitions(topic, 3),
      (error: unknown) => isCoded(error, "TOPIC_MISSING") && error.message.includes(topic),
    );
  });

  contractTest("does not change an existing topic", async (bench) => {
    const topic = await bench.createTopic("once", { partitions: 2 });
    await bench.log.append([record(topic, "k", "kept")]);
    await bench.log.createTopics([{ topic, partitions: 5, compacted: true }]);
    const [facts] = await bench.log.describeTopics([topic]);
    assert.equal(facts.partitions, 2);
    assert.deepEqual(texts(await bench.readAll(topic)), ["kept"]);
  });

  contractTest("names a topic that does not exist", async (bench) => {
    const topic = bench.name("absent");
    const namesIt = (error: unknown) => isCoded(error, "TOPIC_MISSING") && error.message.includes(topic);
    await assert.rejects(bench.log.append([record(topic, "k", "v")]), namesIt);
    await assert.rejects(
      bench.join({ inputs: [topic] }, async () => assert.fail("nothing to own")),
      namesIt,
    );
    await assert.rejects(async () => {
      const signal = AbortSignal.timeout(10_000);
      for await (const _ of bench.log.follow(topic, "earliest", signal)) assert.fail("nothing to read");
    }, namesIt);
  });

  contractTest("refuses a record for a partition that does not exist", async (bench) => {
    const topic = await bench.createTopic("narrow", { partitions: 2 });
    await assert.rejects(bench.log.append([record(topic, "k", "v", 2)]), (error) =>
      isCoded(error, "TOPIC_UNFIT"),
    );
  });

  contractTest(
    "refuses a record larger than the topic accepts, naming topic, size and limit",
    async (bench) => {
      const topic = await bench.createTopic("small", { settings: { "max.message.bytes": "10000" } });
      const large = record(topic, "k", "x".repeat(20_000));
      await assert.rejects(bench.log.append([large]), (error) => {
        assert.ok(isCoded(error, "RECORD_TOO_LARGE"), String(error));
        assert.ok(error.message.includes(topic), error.message);
        const numbers = (error.message.replaceAll(topic, "").match(/\d+/g) ?? []).map(Number);
        assert.ok(numbers.includes(10_000), error.message);
        assert.ok(
          numbers.some((bytes) => bytes >= 20_000 && bytes < 21_000),
          error.message,
        );
        return true;
      });
      assert.deepEqual(await bench.readAll(topic), []);
    },
  );

  contractTest(
    "keeps keys, values and headers unchanged and in order, including null, empty and repeated ones",
    async (bench) => {
      const topic = await bench.createTopic("bytes");
      const bytes = Buffer.from([0, 255, 128, 10]);
      const headers = [
        { key: "größer", value: Buffer.from("größer") },
        { key: "twice", value: Buffer.from("first") },
        { key: "10", value: null },
        { key: "twice", value: bytes },
        { key: "", value: Buffer.alloc(0) },
        { key: "__proto__", value: bytes },
      ];
      await bench.log.append([
        { topic, partition: 0, key: bytes, value: bytes, headers },
        { topic, partition: 0, key: null, value: Buffer.alloc(0) },
        { topic, partition: 0, key: Buffer.from("gone"), value: null },
      ]);
      const records: StoredRecord[] = [];
      await bench.join({ inputs: [topic] }, async (owned) => {
        for await (const batch of owned.batches()) records.push(...batch.records);
      });
      await until("three records", () => records.length === 3);
      const carried = records.map(({ key, value, headers }) => ({ key, value, headers }));
      assert.deepEqual(carried, [
        { key: bytes, value: bytes, headers },
        { key: null, value: Buffer.alloc(0), headers: [] },
        { key: Buffer.from("gone"), value: null, headers: [] },
      ]);
    },
  );

  contractTest("follows all partitions from the earliest record in offset order", async (bench) => {
    const topic = await bench.createTopic("followed", { partitions: 2 });
    await bench.log.append([...numbered(topic, "a", 5, 0), ...numbered(topic, "b", 5, 1)]);
    const { records } = bench.follow(topic);
    await until("ten records", () => records.length === 10);
    for (const [partition, prefix] of ["a", "b"].entries()) {
      const ofPartition = records.filter((record) => record.partition === partition);
      assert.deepEqual(texts(ofPartition), texts(numbered(topic, prefix, 5)));
      assert.deepEqual(offsetsOf(ofPartition), offsetsOf(ofPartition).sort(ascending));
    }
  });

  contractTest("follows a topic from the latest record without earlier ones", async (bench) => {
    const topic = await bench.createTopic("followed");
    await bench.log.append(numbered(topic, "old", 5));
    const { records } = bench.follow(topic, "latest");
    // There is no event for a follower that has found the end, so write until it sees something.
    await until("a new record", async () => {
      await bench.log.append(numbered(topic, "new", 1));
      return records.length > 0;
    });
    assert.deepEqual([...new Set(texts(records))], ["new0"]);
  });

  contractTest("ends a follow when its signal fires", async (bench) => {
    const topic = await bench.createTopic("followed");
    await bench.log.append(numbered(topic, "a", 1));
    const follower = bench.follow(topic);
    await until("one record", () => follower.records.length === 1);
    await follower.stop();
    await bench.log.append(numbered(topic, "b", 1));
    assert.deepEqual(texts(await bench.readAll(topic)), ["a0", "b0"]);
    assert.equal(follower.records.length, 1);
  });
}

function offsetsOf(records: readonly StoredRecord[]): number[] {
  return records.map(({ offset }) => offset);
}

function ascending(a: number, b: number): number {
  return a - b;
}
