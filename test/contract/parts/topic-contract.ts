// Topics: created, described, written to and read back byte for byte.
import assert from "node:assert/strict";
import type { StoredRecord } from "../../../src/log/log.ts";
import { type ContractTest, isCoded, numbered, record, texts, until } from "../contract-bench.ts";

export function topicContract(contractTest: ContractTest): void {
  contractTest("describes those topics that exist, as they were created", async (bench) => {
    const settings = { "max.message.bytes": "2000000" };
    const table = await bench.createTopic("table", { partitions: 3, compacted: true, settings });
    const plain = await bench.createTopic("plain", { partitions: 2 });
    assert.deepEqual(await bench.log.describeTopics([table, bench.name("absent"), plain]), [
      { topic: table, partitions: 3, compacted: true, maxMessageBytes: 2_000_000 },
      { topic: plain, partitions: 2, compacted: false, maxMessageBytes: 1_048_588 },
    ]);
  });

  contractTest("leaves a topic that exists as it is", async (bench) => {
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

  contractTest("refuses a record for a partition the topic does not have", async (bench) => {
    const topic = await bench.createTopic("narrow", { partitions: 2 });
    await assert.rejects(bench.log.append([record(topic, "k", "v", 2)]), (error) =>
      isCoded(error, "TOPIC_UNFIT"),
    );
  });

  contractTest(
    "refuses a record larger than the topic takes, naming topic, size and limit",
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

  contractTest("carries keys, values and headers unchanged, null and empty ones too", async (bench) => {
    const topic = await bench.createTopic("bytes");
    const bytes = Buffer.from([0, 255, 128, 10]);
    await bench.log.append([
      { topic, partition: 0, key: bytes, value: bytes, headers: { reason: "größer", raw: bytes } },
      { topic, partition: 0, key: null, value: Buffer.alloc(0) },
      { topic, partition: 0, key: Buffer.from("gone"), value: null },
    ]);
    const records: StoredRecord[] = [];
    await bench.join({ inputs: [topic] }, async (owned) => {
      for await (const batch of owned.batches()) records.push(...batch.records);
    });
    await until("three records", () => records.length === 3);
    const carried = records.map(({ key, value, headers }) => ({ key, value, headers: { ...headers } }));
    assert.deepEqual(carried, [
      { key: bytes, value: bytes, headers: { reason: Buffer.from("größer"), raw: bytes } },
      { key: null, value: Buffer.alloc(0), headers: {} },
      { key: Buffer.from("gone"), value: null, headers: {} },
    ]);
  });

  contractTest("is followed from the earliest record, all partitions, in offset order", async (bench) => {
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

  contractTest("is followed from the latest record without what came before", async (bench) => {
    const topic = await bench.createTopic("followed");
    await bench.log.append(numbered(topic, "old", 5));
    const { records } = bench.follow(topic, "latest");
    // Nobody tells when a follower has found the end: write until it sees something.
    await until("a new record", async () => {
      await bench.log.append(numbered(topic, "new", 1));
      return records.length > 0;
    });
    assert.deepEqual([...new Set(texts(records))], ["new0"]);
  });

  contractTest("lets a follower go when its signal fires", async (bench) => {
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
