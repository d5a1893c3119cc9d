// A tail across an outage of its broker: it waits, and receives what is written afterwards. Tested without a group,
// which might end the tail because it takes the member for dead.

import assert from "node:assert/strict";
import { test } from "node:test";
import kafkajs from "kafkajs";
import { openLink } from "../../src/log/kafka/cluster-link.ts";
import { Fetcher } from "../../src/log/kafka/fetcher.ts";
import { openKafkaLog } from "../../src/log/kafka/kafka-log.ts";
import { KafkaReads } from "../../src/log/kafka/kafka-reads.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { silentLogger } from "../../src/runtime/logging.ts";
import { startBroker } from "../rig/kafka-broker.ts";
import { record, texts, until } from "./contract-bench.ts";

test("a tail survives an outage of its broker, continues where it was and still ends at once", async () => {
  const broker = await startBroker();
  const open = () =>
    openKafkaLog({
      brokers: [broker.bootstrap],
      clientId: "outage",
      sessionTimeoutMs: 6_000,
      transactions: { timeoutMs: 15_000, onEnd: () => {} },
      replicationFactor: 1,
      clock: systemClock,
      logger: silentLogger,
    });
  const append = async (value: string) => {
    const log = await open();
    await log.append([record("table", "k", value)]).finally(() => log.close());
  };
  const abort = new AbortController();
  try {
    const log = await open();
    await log.createTopics([{ topic: "table", partitions: 1, compacted: true }]).finally(() => log.close());
    await append("before");

    const heard: (string | null)[] = [];
    const kafka = new kafkajs.Kafka({ brokers: [broker.bootstrap], logLevel: kafkajs.logLevel.NOTHING });
    const noTopic = () => Promise.reject(new Error("a tail needs no facts of its topic"));
    const parts = { openLink: () => openLink(kafka), logger: silentLogger };
    const fetcher = new Fetcher({ ...parts, longestWaitMs: 1_000 });
    const reads = new KafkaReads({ ...parts, fetcher, findTopic: noTopic });
    const tail = async () => {
      for await (const records of reads.tail("table", 0, 0, abort.signal)) heard.push(...texts(records));
    };
    const ended = tail();
    await until("the earlier record", () => heard.length === 1);
    await broker.kill9();
    await broker.restart();
    await append("after");
    await until("the later record", () => heard.length === 2);
    assert.deepEqual(heard, ["before", "after"]);

    await broker.kill9();
    abort.abort();
    await ended;
    await reads.close();
    await fetcher.close();
  } finally {
    abort.abort();
    await broker.stop();
  }
});
