// Compares our requests with those of kafkajs byte by byte, and our reading of answers with its own.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { describe, test } from "node:test";
import { encodeRecordBatch } from "../../../../../src/log/kafka/producer.ts";
import { findCoordinator } from "../../../../../src/log/kafka/wire/cluster-requests.ts";
import {
  apis,
  decodeAnswer,
  encodeRequest,
  fetchCommitted,
  type KafkaRequest,
  listOffsets,
  produce,
  withoutSession,
} from "../../../../../src/log/kafka/wire/protocol.ts";
import {
  addOffsetsToTxn,
  addPartitionsToTxn,
  endTxn,
  initProducerId,
} from "../../../../../src/log/kafka/wire/transaction-requests.ts";
import { WireReader, WireWriter } from "../../../../../src/log/kafka/wire/wire-bytes.ts";
import { plain, record, stored } from "./batch-bytes.ts";

interface TheirRequest {
  readonly apiKey: number;
  readonly apiVersion: number;
  encode(): Promise<{ readonly buffer: Buffer }>;
}

const require = createRequire(import.meta.url);
const theirs = (folder: string, version: number) => ({
  request: require(`kafkajs/src/protocol/requests/${folder}/v${version}/request.js`) as (
    facts: object,
  ) => TheirRequest,
  decode: (
    require(`kafkajs/src/protocol/requests/${folder}/v${version}/response.js`) as {
      decode(bytes: Buffer): Promise<Record<string, unknown>>;
    }
  ).decode,
});

const identity = { transactionalId: "grüppe-0", producerId: 2 ** 40 + 7, epoch: 3 };
const theirIdentity = {
  transactionalId: identity.transactionalId,
  producerId: String(identity.producerId),
  producerEpoch: 3,
};
const places = [
  { topic: "a", partition: 0 },
  { topic: "b", partition: 7 },
  { topic: "a", partition: 2 },
];
const byTopic = <T>(facts: (partition: number) => T) => [
  { topic: "a", partitions: [facts(0), facts(2)] },
  { topic: "b", partitions: [facts(7)] },
];
const offsetOf = (partition: number) => 2 ** 41 + partition;

async function batchOfTheirs() {
  const messages = [
    { key: Buffer.from("k"), value: Buffer.from("v"), headers: {}, timestamp: 1_700_000_000_000 },
  ];
  const topicData = [{ topic: "a", partitions: [{ partition: 2, firstSequence: 5, messages }] }];
  return theirs("produce", 7).request({ acks: -1, timeout: 8_000, ...theirIdentity, topicData });
}

const rows: readonly (readonly [string, KafkaRequest<unknown>, TheirRequest])[] = [
  [
    "InitProducerId",
    initProducerId("g-0", 60_000),
    theirs("initProducerId", 1).request({ transactionalId: "g-0", transactionTimeout: 60_000 }),
  ],
  [
    "InitProducerId outside transactions",
    initProducerId(null, 0),
    theirs("initProducerId", 1).request({ transactionalId: null, transactionTimeout: 0 }),
  ],
  [
    "AddPartitionsToTxn",
    addPartitionsToTxn(identity, places),
    theirs("addPartitionsToTxn", 1).request({ ...theirIdentity, topics: byTopic((partition) => partition) }),
  ],
  [
    "AddOffsetsToTxn",
    addOffsetsToTxn(identity, "g"),
    theirs("addOffsetsToTxn", 1).request({ ...theirIdentity, groupId: "g" }),
  ],
  ...[true, false].map(
    (isCommit) =>
      [
        `EndTxn, ${isCommit ? "commit" : "abort"}`,
        endTxn(identity, isCommit),
        theirs("endTxn", 1).request({ ...theirIdentity, transactionResult: isCommit }),
      ] as const,
  ),
  [
    "Fetch",
    fetchCommitted(
      {
        ...{ sessionId: 77, epoch: 3, forgotten: places },
        places: places.map((place) => ({ ...place, offset: offsetOf(place.partition), maxBytes: 1_000 })),
      },
      { maxWaitMs: 250, maxBytes: 16_000_000 },
    ),
    theirs("fetch", 11).request({
      ...{ replicaId: -1, maxWaitTime: 250, minBytes: 1, maxBytes: 16_000_000 },
      topics: byTopic((partition) => ({
        ...{ partition, fetchOffset: String(offsetOf(partition)), maxBytes: 1_000 },
      })),
      ...{ sessionId: 77, sessionEpoch: 3 },
      forgottenTopics: byTopic((partition) => partition),
    }),
  ],
  ...(["earliest", "latest"] as const).map(
    (which) =>
      [
        `ListOffsets, ${which}`,
        listOffsets(places, which),
        theirs("listOffsets", 3).request({
          ...{ replicaId: -1, isolationLevel: 0 },
          topics: byTopic((partition) => ({ partition, timestamp: which === "earliest" ? -2 : -1 })),
        }),
      ] as const,
  ),
  ...(["group", "transaction"] as const).map(
    (kind, coordinatorType) =>
      [
        `FindCoordinator of a ${kind}`,
        findCoordinator(kind, "g"),
        theirs("findCoordinator", 2).request({ coordinatorKey: "g", coordinatorType }),
      ] as const,
  ),
];

describe("our request equals that of kafkajs byte by byte:", () => {
  for (const [title, ours, their] of rows) {
    test(title, async () => {
      assert.deepEqual(encodeRequest(ours), (await their.encode()).buffer);
      assert.deepEqual(apis[ours.api], { key: their.apiKey, version: their.apiVersion });
    });
  }

  test("Produce, with the same record batch", async () => {
    const their = await batchOfTheirs();
    const bytes = (await their.encode()).buffer;
    const reader = new WireReader(bytes);
    assert.deepEqual(
      [reader.string(), reader.int16(), reader.int32()],
      [identity.transactionalId, -1, 8_000],
    );
    const [[batch]] = reader.array(() => {
      reader.string();
      return reader.array(() => {
        reader.int32();
        return reader.blob();
      });
    });
    const ours = produce(identity.transactionalId, [{ topic: "a", partition: 2, bytes: batch }], 8_000);
    assert.deepEqual(encodeRequest(ours), bytes);
    assert.deepEqual(apis.Produce, { key: their.apiKey, version: their.apiVersion });
  });
});

/** An answer of one topic with two partitions, the second refused. */
function answerBytes(partition: (to: WireWriter, number: number, code: number) => void): Buffer {
  const to = new WireWriter();
  to.int32(0); // throttle time
  writeTopic(to, partition);
  return to.bytes;
}

function writeTopic(
  to: WireWriter,
  partition: (to: WireWriter, number: number, code: number) => void,
): WireWriter {
  return to.array(["a"], (topic) => {
    to.string(topic).array(
      [
        [0, 0],
        [2, 6],
      ] as const,
      ([number, code]) => partition(to, number, code),
    );
  });
}

const large = 2 ** 45 + 1;

describe("an answer is read as kafkajs reads it:", () => {
  test("AddPartitionsToTxn", async () => {
    const bytes = answerBytes((to, number, code) => to.int32(number).int16(code));
    assert.deepEqual(decodeAnswer<unknown>(addPartitionsToTxn(identity, places), bytes), [
      { topic: "a", partition: 0, errorCode: 0 },
      { topic: "a", partition: 2, errorCode: 6 },
    ]);
    const { errors } = (await theirs("addPartitionsToTxn", 1).decode(bytes)) as Record<string, unknown>;
    assert.match(JSON.stringify(errors), /"partition":2,"errorCode":6/);
  });

  for (const [title, request, folder] of [
    ["AddOffsetsToTxn", addOffsetsToTxn(identity, "g"), "addOffsetsToTxn"],
    ["EndTxn", endTxn(identity, true), "endTxn"],
  ] as const) {
    test(title, async () => {
      const bytes = new WireWriter().int32(0).int16(47).bytes;
      assert.deepEqual(decodeAnswer(request, bytes), { errorCode: 47 });
      assert.equal((await theirs(folder, 1).decode(bytes)).errorCode, 47);
    });
  }

  test("InitProducerId", async () => {
    const bytes = new WireWriter().int32(0).int16(0).int64(large).int16(32_000).bytes;
    const read = decodeAnswer(initProducerId("g-0", 1), bytes);
    assert.deepEqual(read, { errorCode: 0, producerId: large, epoch: 32_000 });
    const their = await theirs("initProducerId", 1).decode(bytes);
    assert.deepEqual([their.producerId, their.producerEpoch], [String(large), 32_000]);
  });

  test("Produce", async () => {
    const to = new WireWriter();
    writeTopic(to, (_, number, code) => to.int32(number).int16(code).int64(large).int64(-1).int64(4)).int32(
      0,
    );
    const read = decodeAnswer(produce(null, [], 1), to.bytes);
    assert.deepEqual(read, [
      { topic: "a", partition: 0, errorCode: 0, baseOffset: large },
      { topic: "a", partition: 2, errorCode: 6, baseOffset: large },
    ]);
    const their = await theirs("produce", 7).decode(to.bytes);
    assert.match(JSON.stringify(their), new RegExp(`"partition":2,"errorCode":6,"baseOffset":"${large}"`));
  });

  test("ListOffsets", async () => {
    const bytes = answerBytes((to, number, code) => to.int32(number).int16(code).int64(-1).int64(large));
    const read = decodeAnswer(listOffsets(places, "latest"), bytes);
    assert.deepEqual(read[1], { topic: "a", partition: 2, errorCode: 6, offset: large });
    const their = JSON.stringify(await theirs("listOffsets", 3).decode(bytes));
    assert.match(their, new RegExp(`"partition":2,"errorCode":6,"timestamp":"-1","offset":"${large}"`));
  });

  test("FindCoordinator", async () => {
    const bytes = new WireWriter().int32(0).int16(0).string(null).int32(5).string("host").int32(9_092).bytes;
    const read = decodeAnswer(findCoordinator("group", "g"), bytes);
    assert.deepEqual(read, { errorCode: 0, nodeId: 5 });
    const their = await theirs("findCoordinator", 2).decode(bytes);
    assert.equal((their.coordinator as { nodeId: number }).nodeId, 5);
  });

  test("Fetch", async () => {
    const recordSet = stored(encodeRecordBatch([record("v", "k")], plain), BigInt(large));
    const to = new WireWriter().int32(0).int16(0).int32(77);
    writeTopic(to, (_, number, code) => {
      to.int32(number)
        .int16(code)
        .int64(large)
        .int64(large - 1)
        .int64(3);
      to.array([[7, large]] as const, ([producerId, first]) => to.int64(producerId).int64(first));
      to.int32(-1).blob(code === 0 ? recordSet : Buffer.alloc(0));
    });
    const { errorCode, sessionId, partitions } = decodeAnswer(
      fetchCommitted({ ...withoutSession, places: [] }, { maxWaitMs: 1, maxBytes: 1 }),
      to.bytes,
    );
    assert.deepEqual([errorCode, sessionId], [0, 77]);
    assert.deepEqual(partitions[0], {
      ...{ topic: "a", partition: 0, errorCode: 0 },
      ...{ highWatermark: large, lastStableOffset: large - 1 },
      abortedTransactions: [{ producerId: 7, firstOffset: large }],
      recordSet,
    });
    assert.deepEqual([partitions[1].errorCode, partitions[1].recordSet.length], [6, 0]);
    const their = JSON.stringify(await theirs("fetch", 11).decode(to.bytes));
    assert.match(their, new RegExp(`"highWatermark":"${large}","lastStableOffset":"${large - 1}"`));
    assert.match(their, new RegExp(`"producerId":"7","firstOffset":"${large}"`));
  });
});

describe("a truncated answer", () => {
  test("is refused, wherever it ends", () => {
    const bytes = answerBytes((to, number, code) => to.int32(number).int16(code).int64(-1).int64(large));
    for (let length = 0; length < bytes.length; length++) {
      const cut = Buffer.from(bytes.subarray(0, length));
      assert.throws(() => decodeAnswer(listOffsets(places, "latest"), cut), RangeError, `cut at ${length}`);
    }
  });
});
