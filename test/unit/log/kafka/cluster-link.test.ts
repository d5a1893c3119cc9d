// A link over a scripted client.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Kafka } from "kafkajs";
import { assertAnswered, KnownLeaders, openLink } from "../../../../src/log/kafka/cluster-link.ts";
import { isRetriable } from "../../../../src/log/kafka/kafka-errors.ts";
import { findCoordinator } from "../../../../src/log/kafka/wire/cluster-requests.ts";
import { encodeRequest } from "../../../../src/log/kafka/wire/protocol.ts";
import { endTxn } from "../../../../src/log/kafka/wire/transaction-requests.ts";
import { WireWriter } from "../../../../src/log/kafka/wire/wire-bytes.ts";
import { fakeConnections, type Question } from "./fake-connections.ts";
import { turns } from "./instant-delays.ts";

/** Handles requests like kafkajs, and counts them. */
function fakeClient(answer: (question: Question, nodeId: string) => Promise<Buffer> | Buffer) {
  const calls: string[] = [];
  const versions = { 26: { minVersion: 0, maxVersion: 5 }, 10: { minVersion: 0, maxVersion: 6 } };
  const topicPartitions = [
    { partitionId: 0, leader: 2 },
    { partitionId: 1, leader: -1 },
  ];
  const brokerPool: { brokers: object; createBroker(options: object): object } = {
    brokers: {},
    createBroker: (options) => ({
      ...{ metadata: async () => "the client's own", disconnect: async () => undefined },
      ...options,
    }),
  };
  const cluster = {
    brokerPool,
    connect: async () => void calls.push("connect"),
    addMultipleTargetTopics: async (topics: readonly string[]) => void calls.push(`topics ${topics}`),
    refreshMetadata: async () => void calls.push("refresh"),
    findTopicPartitionMetadata: () => topicPartitions,
    getNodeIds: () => [1],
    findBroker: async ({ nodeId }: { nodeId: string }) => ({
      versions,
      connectionPool: {
        ...{ host: "h", port: Number(nodeId) },
        ...fakeConnections((question) => answer(question, nodeId)),
      },
      disconnect: async () => void calls.push(`disconnect ${nodeId}`),
    }),
    removeBroker: ({ host, port }: { host: string; port: number }) =>
      void calls.push(`remove ${host}:${port}`),
    disconnect: async () => void calls.push("disconnect"),
  };
  const consumer = ({ partitionAssigners }: { partitionAssigners: ((parts: object) => void)[] }) =>
    partitionAssigners[0]({ cluster });
  const leaders = new KnownLeaders();
  return {
    link: openLink({ consumer } as unknown as Kafka, leaders),
    leaders,
    calls,
    versions,
    topicPartitions,
    brokerPool,
  };
}

const end = endTxn({ transactionalId: "g-0", producerId: 1, epoch: 0 }, true);
const code = (errorCode: number) => new WireWriter().int32(0).int16(errorCode).bytes;

describe("a link", () => {
  test("sends our bytes in our version to the given broker, and returns the answer unchanged", async () => {
    const sent: unknown[] = [];
    const { link } = fakeClient(async ({ apiKey, apiVersion, bytes }, nodeId) => {
      sent.push({ nodeId, apiKey, apiVersion, bytes });
      return code(48);
    });
    assert.deepEqual(await link.ask("3", end), { errorCode: 48 });
    assert.deepEqual(sent, [{ nodeId: "3", apiKey: 26, apiVersion: 1, bytes: encodeRequest(end) }]);
  });

  test("connects and learns the leaders of the given topics", async () => {
    const { link, calls } = fakeClient(() => code(0));
    await link.connect(["a", "b"]);
    await link.refresh();
    assert.deepEqual(calls, ["connect", "topics a,b", "refresh"]);
    assert.equal(link.leaderOf({ topic: "a", partition: 0 }), "2");
    assert.equal(link.anyBroker(), "1");
    for (const partition of [1, 2])
      assert.throws(() => link.leaderOf({ topic: "a", partition }), isRetriable);
  });

  test("uses the newest leader that any link has learned", () => {
    const { link, leaders } = fakeClient(() => code(0));
    leaders.learn([
      { errorCode: 0, topic: "a", topicId: "x", partitions: [{ partition: 0, leader: 3, leaderEpoch: 1 }] },
    ]);
    assert.equal(link.leaderOf({ topic: "a", partition: 0 }), "3");
  });

  test("reads metadata itself, so that a partition without a leader hides no other one", async () => {
    const { brokerPool } = fakeClient(() => code(0));
    const to = new WireWriter().noTags().int32(0);
    to.uvarint(2).int32(1).compactString("h").int32(9092).uvarint(0).noTags();
    to.uvarint(0).int32(1).uvarint(2);
    to.int16(0).compactString("a").raw(Buffer.alloc(16)).int8(0).uvarint(3);
    for (const [partition, leader] of [
      [0, 1],
      [1, -1],
    ] as const) {
      const leaderNotAvailable = 5;
      to.int16(leader < 0 ? leaderNotAvailable : 0);
      to.int32(partition).int32(leader).int32(0).uvarint(1).uvarint(1).uvarint(1).noTags();
    }
    to.int32(0).noTags().noTags();
    const connectionPool = fakeConnections(() => to.bytes);
    const [speaking, old] = [12, 8].map(
      (maxVersion) =>
        brokerPool.createBroker({ versions: { 3: { minVersion: 0, maxVersion } }, connectionPool }) as {
          metadata(topics: readonly string[]): Promise<unknown>;
        },
    );
    assert.deepEqual(await speaking.metadata(["a"]), {
      brokers: [{ nodeId: 1, host: "h", port: 9092, rack: null }],
      controllerId: 1,
      topicMetadata: [
        {
          topic: "a",
          partitionMetadata: [
            { partitionId: 0, leader: 1 },
            { partitionId: 1, leader: -1 },
          ],
        },
      ],
    });
    assert.equal(await old.metadata(["a"]), "the client's own");
    const unconnected = brokerPool.createBroker({ versions: null, connectionPool }) as typeof old;
    await assert.rejects(unconnected.metadata(["a"]), isRetriable);
  });

  test("looks up a coordinator once", async () => {
    let asked = 0;
    const { link } = fakeClient(() => {
      asked++;
      return new WireWriter().int32(0).int16(0).string(null).int32(7).string("h").int32(1).bytes;
    });
    for (let i = 0; i < 3; i++) assert.equal(await link.coordinatorOf("transaction", "g-0"), "7");
    assert.equal(await link.coordinatorOf("group", "g-0"), "7");
    assert.equal(asked, 2);
  });

  test("does not remember a coordinator after a refusal", async () => {
    let asked = 0;
    const { link } = fakeClient(() => {
      const errorCode = asked++ === 0 ? 15 : 0;
      return new WireWriter().int32(0).int16(errorCode).string(null).int32(7).string("h").int32(1).bytes;
    });
    await assert.rejects(link.coordinatorOf("group", "g"), { type: "GROUP_COORDINATOR_NOT_AVAILABLE" });
    assert.equal(await link.coordinatorOf("group", "g"), "7");
  });

  test("drops a broker that does not answer in time, and connects to it again", async () => {
    let release: (bytes: Buffer) => void = () => undefined;
    let asked = 0;
    const { link, calls } = fakeClient(() =>
      asked++ === 0
        ? new Promise<Buffer>((resolve) => {
            release = resolve;
          })
        : code(0),
    );
    await assert.rejects(link.ask("3", end, 5), {
      name: "NoAnswerError",
      message: "EndTxn to broker 3 was not answered within 5 ms",
    });
    assert.deepEqual(calls, ["remove h:3", "disconnect 3"]);
    release(code(0)); // too late
    assert.deepEqual(await link.ask("3", end), { errorCode: 0 });
  });

  test("ignores a late failure", async () => {
    let fail: (error: Error) => void = () => undefined;
    const { link } = fakeClient(
      () =>
        new Promise<Buffer>((_, reject) => {
          fail = reject;
        }),
    );
    await assert.rejects(link.ask("3", end, 5), { name: "NoAnswerError" });
    fail(new Error("connection reset"));
    await turns();
  });

  test("drops a connection that was closed, so that the next request opens a new one", async () => {
    const closed = Object.assign(new Error("Closed connection"), { name: "KafkaJSConnectionClosedError" });
    const { link, calls } = fakeClient(() => Promise.reject(closed));
    await assert.rejects(link.ask("3", end), isRetriable);
    assert.deepEqual(calls, ["disconnect 3"]);
  });

  test("refuses a broker that does not support the version, and names the version it needs", async () => {
    const client = fakeClient(() => code(0));
    client.versions[26].minVersion = 3;
    await assert.rejects(client.link.ask("3", end), {
      code: "LOG_FAILED",
      message: /broker 3 does not support version 1 of EndTxn: use Kafka 2.5 or newer/,
    });
  });

  test("sends nothing after it was closed", async () => {
    const { link, calls } = fakeClient(() => assert.fail("asked"));
    await link.close();
    await assert.rejects(link.ask("3", end), { name: "NoAnswerError", message: "the link is closed" });
    await assert.rejects(link.connect([]), { name: "NoAnswerError" });
    assert.deepEqual(calls, ["disconnect"]);
  });

  test("that is closed while it waits disconnects after the answer, without delaying the caller", async () => {
    let release: (bytes: Buffer) => void = () => undefined;
    const { link, calls } = fakeClient(
      () =>
        new Promise<Buffer>((resolve) => {
          release = resolve;
        }),
    );
    const asking = link.ask("3", findCoordinator("group", "g"));
    await turns();
    await link.close();
    assert.deepEqual(calls, []);
    release(new WireWriter().int32(0).int16(0).string(null).int32(7).string("h").int32(1).bytes);
    await asking;
    await turns();
    assert.deepEqual(calls, ["disconnect"]);
  });
});

describe("an answer for several partitions", () => {
  const [a, b] = [
    { topic: "t", partition: 0 },
    { topic: "t", partition: 1 },
  ];
  for (const [title, answers, expected] of [
    ["is refused if a partition is missing", [{ ...a, errorCode: 0 }], /X was not answered for t\/1/],
    [
      "is refused if a partition comes twice",
      [a, a, b].map((place) => ({ ...place, errorCode: 0 })),
      /X was answered for t\/0 unasked, or twice/,
    ],
    [
      "is refused if a partition was not asked for",
      [a, b, { topic: "u", partition: 0 }].map((place) => ({ ...place, errorCode: 0 })),
      /X was answered for u\/0 unasked, or twice/,
    ],
    [
      "names the code and the partition of a refusal",
      [
        { ...a, errorCode: 0 },
        { ...b, errorCode: 6 },
      ],
      /X for t\/1 was answered with NOT_LEADER_FOR_PARTITION/,
    ],
    [
      "reports a permanent refusal first",
      [
        { ...a, errorCode: 55 },
        { ...b, errorCode: 29 },
      ],
      /X for t\/1 was answered with TOPIC_AUTHORIZATION_FAILED/,
    ],
  ] as const) {
    test(title, () => assert.throws(() => assertAnswered([a, b], answers, "X"), { message: expected }));
  }

  test("may list the partitions in any order", () => {
    assertAnswered(
      [a, b],
      [b, a].map((place) => ({ ...place, errorCode: 0 })),
      "X",
    );
  });
});

const place = { topic: "state", partition: 0 };

function told(leader: number, leaderEpoch: number, topicId = "one", errorCode = 0) {
  return [{ errorCode, topic: "state", topicId, partitions: [{ partition: 0, leader, leaderEpoch }] }];
}

test("a leader that no broker has reported is unknown", () => {
  const leaders = new KnownLeaders();
  assert.equal(leaders.leaderOf(place), null);
  leaders.learn(told(1, 3));
  assert.equal(leaders.leaderOf({ topic: "state", partition: 1 }), null);
});

test("a leader with an older epoch is ignored", () => {
  const leaders = new KnownLeaders();
  leaders.learn(told(2, 4));
  leaders.learn(told(1, 3));
  assert.equal(leaders.leaderOf(place), 2);
  leaders.learn(told(-1, 5));
  assert.equal(leaders.leaderOf(place), -1, "a newer epoch without a leader is believed");
});

test("the leader epochs of a recreated topic restart", () => {
  const leaders = new KnownLeaders();
  leaders.learn(told(2, 4));
  leaders.learn(told(1, 0, "another"));
  assert.equal(leaders.leaderOf(place), 1);
});

test("a refused topic changes no leader", () => {
  const leaders = new KnownLeaders();
  leaders.learn(told(2, 4));
  leaders.learn(told(1, 9, "one", 29));
  assert.equal(leaders.leaderOf(place), 2);
});
