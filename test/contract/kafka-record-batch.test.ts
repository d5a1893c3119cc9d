// Our record batches against the two common implementations: the Java client, whose code the broker runs when it
// compresses or decompresses a batch itself, and librdkafka.

import assert from "node:assert/strict";
import { test } from "node:test";
import kafkajs from "kafkajs";
import { type BatchOptions, encodeRecordBatch } from "../../src/log/kafka/producer.ts";
import { type Compression, codecIdOf } from "../../src/log/kafka/wire/compression.ts";
import { type DecodedBatch, decodeRecordSet } from "../../src/log/kafka/wire/fetched-records.ts";
import { brokerForTests } from "../rig/kafka-broker.ts";
import { needsLibrdkafka } from "../rig/librdkafka.ts";
import { type PlainRecord, readWithLibrdkafka, writeWithLibrdkafka } from "../rig/librdkafka-records.ts";
import { until } from "./contract-bench.ts";
import { openRawPartition, type RawPartition } from "./raw-partition.ts";

const codecs: readonly Compression[] = ["none", "gzip", "snappy", "lz4", "zstd"];
const run = `record-batch-${process.pid.toString(36)}`;
const roomy = { "max.message.bytes": "10000000" };
const LIMIT = 64 * 1024 * 1024;
let topics = 0;

/** About 400 KB, so that every codec needs several blocks, with every form of record. */
const records: readonly PlainRecord[] = Array.from({ length: 3_000 }, (_, i) => ({
  key: i % 7 === 0 ? null : Buffer.from(`sensor-${i % 97}`),
  value:
    i % 11 === 0 ? null : Buffer.from(`{"time":${1_700_000_000_000 + i},"value":${Math.sin(i) * 1_000}}`),
  headers:
    i % 5 === 0
      ? [
          { key: "trace", value: Buffer.from(`${i}`) },
          { key: "trace", value: null },
          { key: "größe", value: Buffer.alloc(0) },
        ]
      : [],
}));

const options = (compression: Compression): BatchOptions => ({
  producerId: -1,
  producerEpoch: -1,
  firstSequence: -1,
  isTransactional: false,
  compression,
  timestampMs: 1_700_000_000_000,
});

async function withPartition(
  settings: Readonly<Record<string, string>>,
  use: (partition: RawPartition, bootstrap: string) => Promise<void>,
): Promise<void> {
  const bootstrap = await brokerForTests();
  const partition = await openRawPartition(bootstrap, `${run}-${topics++}`, { ...roomy, ...settings });
  try {
    await use(partition, bootstrap);
  } finally {
    await partition.close();
  }
}

async function storedIn(partition: RawPartition): Promise<DecodedBatch[]> {
  return decodeRecordSet(await partition.fetch(), LIMIT);
}

function assertHold(batches: readonly DecodedBatch[], compression: Compression): void {
  assert.deepEqual(
    batches.map(({ failure, rawBytes }) => [failure, rawBytes.readInt16BE(21) & 7]),
    batches.map(() => [null, codecIdOf(compression)]),
  );
  const found = batches.flatMap((batch) => batch.records);
  assert.deepEqual(
    found.map(({ key, value, headers }) => ({ key, value, headers })),
    records,
  );
  assert.deepEqual(
    found.map(({ offset }) => offset),
    records.map((_, i) => i),
  );
}

for (const codec of codecs) {
  test(`a batch that Java code wrote with ${codec} is read`, async () => {
    const kept = codec === "none" ? "uncompressed" : codec;
    await withPartition({ "compression.type": kept }, async (partition) => {
      // The broker has to rewrite it.
      await partition.produce(encodeRecordBatch(records, options(codec === "none" ? "gzip" : "none")));
      assertHold(await storedIn(partition), codec);
    });
  });

  test(`a batch written with ${codec} is stored unchanged, and Java code decompresses it`, async () => {
    const batch = encodeRecordBatch(records, options(codec));
    await withPartition({ "compression.type": "producer" }, async (partition) => {
      await partition.produce(batch);
      const batches = await storedIn(partition);
      assertHold(batches, codec);
      assert.ok(batches[0]?.rawBytes.subarray(61).equals(batch.subarray(61)));
    });
    await withPartition({ "compression.type": "uncompressed" }, async (partition) => {
      await partition.produce(batch);
      assertHold(await storedIn(partition), "none");
    });
  });

  test(`a batch that librdkafka wrote with ${codec} is read`, await needsLibrdkafka(), async () => {
    await withPartition({}, async (partition, bootstrap) => {
      await writeWithLibrdkafka({ bootstrap, topic: partition.topic }, codec, records);
      assertHold(await storedIn(partition), codec);
    });
  });

  test(`a batch written with ${codec} is read by librdkafka`, await needsLibrdkafka(), async () => {
    await withPartition({}, async (partition, bootstrap) => {
      await partition.produce(encodeRecordBatch(records, options(codec)));
      assert.deepEqual(
        await readWithLibrdkafka({ bootstrap, topic: partition.topic }, records.length),
        records,
      );
    });
  });
}

test("transaction markers are read as control batches of their producer, records as records", async () => {
  await withPartition({}, async (partition, bootstrap) => {
    const kafka = new kafkajs.Kafka({ brokers: [bootstrap], logLevel: kafkajs.logLevel.NOTHING });
    const producer = kafka.producer({
      transactionalId: partition.topic,
      maxInFlightRequests: 1,
      idempotent: true,
    });
    await producer.connect();
    for (const end of ["commit", "abort"] as const) {
      const transaction = await producer.transaction();
      await transaction.send({ topic: partition.topic, messages: [{ value: end }, { value: end }] });
      await transaction[end]();
    }
    await producer.disconnect();
    let batches: DecodedBatch[] = [];
    // The coordinator writes the last marker after it has answered.
    await until("all markers", async () => {
      batches = await storedIn(partition);
      return batches.length === 4;
    });
    assert.deepEqual(
      batches.map((batch) => [
        batch.isTransactional,
        batch.isControl,
        batch.records.map(({ value }) => String(value)).join(),
        [batch.firstOffset, batch.nextOffset],
      ]),
      [
        [true, false, "commit,commit", [0, 2]],
        [true, true, "", [2, 3]],
        [true, false, "abort,abort", [3, 5]],
        [true, true, "", [5, 6]],
      ],
    );
    assert.equal(new Set(batches.map(({ producerId }) => producerId)).size, 1);
    assert.ok((batches[0]?.producerId ?? -1) >= 0);
  });
});

test("a batch of an idempotent producer is stored once, and one with a sequence gap is refused", async () => {
  await withPartition({}, async (partition) => {
    const producerId = await partition.newProducerId();
    const produce = (firstSequence: number) =>
      partition.produce(
        encodeRecordBatch(records, { ...options("zstd"), producerId, producerEpoch: 0, firstSequence }),
      );
    await produce(0);
    await produce(0);
    await produce(records.length);
    await assert.rejects(produce(records.length * 3), /error 45/); // out of order
    assert.deepEqual(
      (await storedIn(partition)).map((batch) => [batch.producerId, batch.firstOffset, batch.nextOffset]),
      [
        [producerId, 0, records.length],
        [producerId, records.length, 2 * records.length],
      ],
    );
  });
});

test("a broker that sets timestamps gives all records of a batch its own time", async () => {
  await withPartition({ "message.timestamp.type": "LogAppendTime" }, async (partition) => {
    await partition.produce(encodeRecordBatch(records, options("lz4")));
    const times = new Set(
      (await storedIn(partition)).flatMap((batch) => batch.records.map((r) => r.timestampMs)),
    );
    assert.equal(times.size, 1);
    const [time] = times;
    assert.ok(Math.abs((time ?? 0) - Date.now()) < 10 * 60_000);
  });
});
