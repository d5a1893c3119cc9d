// Offsets of a real broker have gaps: transaction markers, aborted records, and records removed by compaction or
// retention. A tail continues where a restore ended, and misses nothing.

import assert from "node:assert/strict";
import kafkajs from "kafkajs";
import { openKafkaLog } from "../../src/log/kafka/kafka-log.ts";
import type { StoredRecord } from "../../src/log/log.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { silentLogger } from "../../src/runtime/logging.ts";
import { brokerForTests } from "../rig/kafka-broker.ts";
import { type ContractBench, contractTests, record, texts, until } from "./contract-bench.ts";

const run = `offsets-${process.pid.toString(36)}`;
let names = 0;

const brokerTest = contractTests(async () => {
  const log = await openKafkaLog({
    brokers: [await brokerForTests()],
    clientId: "offsets",
    sessionTimeoutMs: 6_000,
    transactions: { timeoutMs: 15_000, onEnd: () => {} },
    replicationFactor: 1,
    clock: systemClock,
    logger: silentLogger,
  });
  return { log, topicName: (prefix) => `${prefix}-${run}-${names++}`, close: () => log.close() };
});

brokerTest("a tail continues after a table that ends with an aborted transaction", async (bench) => {
  const table = await bench.createTopic("table", { compacted: true });
  await bench.log.append([record(table, "a", "kept")]);
  await transact(table, [1, 2, 3], "abort");
  const { restored, heard } = await restoreThenTail(bench, table);
  await transact(table, [4, 5], "abort");
  await transact(table, [6], "commit");
  await until("the commit", () => heard.length > 0);
  assert.deepEqual([texts(restored), texts(heard)], [["kept"], ["6"]]);
  // One record, three aborted and their marker, two aborted and their marker.
  assert.deepEqual([restored[0].offset, heard[0].offset], [0, 8]);
});

brokerTest("a tail continues after an empty table, although its offsets do not start at 0", async (bench) => {
  const settings = { "cleanup.policy": "compact,delete" };
  const table = await bench.createTopic("table", { compacted: true, settings });
  await bench.log.append(Array.from({ length: 7 }, (_, n) => record(table, `k${n}`, "deleted")));
  await deleteBefore(table, 7);
  const { restored, heard } = await restoreThenTail(bench, table);
  await bench.log.append([record(table, "a", "first after")]);
  await until("the first record", () => heard.length > 0);
  assert.deepEqual([texts(restored), texts(heard), heard[0].offset], [[], ["first after"], 7]);
});

brokerTest("a tail continues after a table in which compaction has left holes", async (bench) => {
  const settings = {
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.01",
    "max.compaction.lag.ms": "100",
  };
  const table = await bench.createTopic("table", { compacted: true, settings });
  const { signal } = new AbortController();
  const left = async () => {
    const records: StoredRecord[] = [];
    for await (const batch of bench.log.read(table, signal)) records.push(...batch.records);
    return records;
  };
  await transact(table, [1, 2, 3, 4, 5], "commit", "same key");
  await transact(table, [6, 7, 8], "abort", "same key");
  // A write closes the previous segment, which can be compacted only then.
  await until("compaction", async () => {
    await bench.log.append([record(table, "same key", "newest")]);
    const texted = texts(await left());
    return !texted.includes("1") && !texted.includes("5");
  });
  const { restored, heard } = await restoreThenTail(bench, table);
  assert.deepEqual([...new Set(texts(restored))], ["newest"]);
  await transact(table, [9], "commit");
  await until("the commit", () => heard.length > 0);
  assert.deepEqual(texts(heard), ["9"]);
});

/** A member that restores a table and then tails it; resolves when the tail has started. */
async function restoreThenTail(bench: ContractBench, table: string) {
  const input = await bench.createTopic("input");
  const restored: StoredRecord[] = [];
  const heard: StoredRecord[] = [];
  let isRestored = false;
  await bench.join({ inputs: [input] }, async (owned) => {
    for await (const records of owned.restore(table)) restored.push(...records);
    isRestored = true;
    const nextOffset = (restored.at(-1)?.offset ?? -1) + 1;
    for await (const records of owned.tail(table, nextOffset)) heard.push(...records);
  });
  await until("the restore", () => isRestored);
  return { restored, heard };
}

async function client() {
  return new kafkajs.Kafka({ brokers: [await brokerForTests()], logLevel: kafkajs.logLevel.NOTHING });
}

async function deleteBefore(topic: string, offset: number): Promise<void> {
  const admin = (await client()).admin();
  try {
    await admin.connect();
    await admin.fetchTopicOffsets(topic); // without which kafkajs does not know the topic
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: String(offset) }] });
  } finally {
    await admin.disconnect();
  }
}

async function transact(topic: string, values: readonly number[], end: "commit" | "abort", key = "k") {
  const transactionalId = `${run}-${names++}`;
  const producer = (await client()).producer({ transactionalId, maxInFlightRequests: 1, idempotent: true });
  try {
    await producer.connect();
    const transaction = await producer.transaction();
    const messages = values.map((value) => ({ key, value: String(value), partition: 0 }));
    await transaction.send({ topic, messages });
    await transaction[end]();
  } finally {
    await producer.disconnect();
  }
}
