// Metadata against bytes written by hand from its definition, and group requests byte by byte against those of kafkajs.
// The integrity stories use real brokers.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { describe, test } from "node:test";
import {
  heartbeat,
  joinGroup,
  leaveGroup,
  metadata,
  syncGroup,
} from "../../../../../src/log/kafka/wire/cluster-requests.ts";
import { apis, decodeAnswer, encodeRequest } from "../../../../../src/log/kafka/wire/protocol.ts";
import { WireWriter } from "../../../../../src/log/kafka/wire/wire-bytes.ts";

describe("metadata", () => {
  test("are requested by topic names", () => {
    const expected = Buffer.concat([
      Buffer.from([0, 2]), // no tags in the header; one topic
      Buffer.alloc(16),
      Buffer.from([3, 0x61, 0x62, 0]), // "ab", no tags
      Buffer.from([0, 0, 0]), // do not create, no rights, no tags
    ]);
    assert.deepEqual(encodeRequest(metadata(["ab"])), expected);
  });

  test("hold brokers, topic ids and leaders, and unknown tags are skipped", () => {
    const id = Buffer.from("00112233445566778899aabbccddeeff", "hex");
    const to = new WireWriter().noTags().int32(0); // of the header; throttle time
    to.uvarint(2).int32(1).compactString("host").int32(9092).uvarint(0);
    to.uvarint(1).uvarint(0).uvarint(2).raw(Buffer.from("xy")); // a tag of two bytes
    to.uvarint(0).int32(1); // no cluster id, controller
    to.uvarint(3);
    for (const [name, topicId, leader] of [
      ["ab", id, 1],
      ["old", Buffer.alloc(16), -1],
    ] as const) {
      to.int16(0).compactString(name).raw(topicId).int8(0);
      const leaderNotAvailable = 5;
      to.uvarint(2).int16(leader < 0 ? leaderNotAvailable : 0);
      to.int32(0).int32(leader).int32(5);
      to.uvarint(2).int32(1).uvarint(2).int32(1).uvarint(1).noTags();
      to.int32(0).noTags();
    }
    to.noTags();
    assert.deepEqual(decodeAnswer(metadata(["ab", "old"]), to.bytes), {
      brokers: [{ nodeId: 1, host: "host", port: 9092, rack: null }],
      controllerId: 1,
      topics: [
        {
          errorCode: 0,
          topic: "ab",
          topicId: id.toString("hex"),
          partitions: [{ partition: 0, leader: 1, leaderEpoch: 5 }],
        },
        {
          errorCode: 0,
          topic: "old",
          topicId: null,
          partitions: [{ partition: 0, leader: -1, leaderEpoch: 5 }],
        },
      ],
    });
  });
});

interface TheirRequest {
  readonly apiKey: number;
  readonly apiVersion: number;
  encode(): Promise<{ readonly buffer: Buffer }>;
}

const require = createRequire(import.meta.url);
const theirs = (folder: string, version: number, facts: object): TheirRequest =>
  require(`kafkajs/src/protocol/requests/${folder}/v${version}/request.js`)(facts);

const member = { group: "grüppe", memberId: "m-1", generation: 12 };
const theirMember = { groupId: "grüppe", memberId: "m-1" };
const userData = Buffer.from([1, 2, 3]);

describe("a group request equals that of kafkajs:", () => {
  const rows = [
    [
      joinGroup(
        member,
        { name: "rule", metadata: userData },
        { sessionTimeoutMs: 10_000, rebalanceTimeoutMs: 20_000 },
      ),
      theirs("joinGroup", 5, {
        ...{ ...theirMember, sessionTimeout: 10_000, rebalanceTimeout: 20_000, protocolType: "consumer" },
        groupProtocols: [{ name: "rule", metadata: userData }],
      }),
    ],
    [
      syncGroup(member, [{ memberId: "m-2", assignment: userData }]),
      theirs("syncGroup", 3, {
        ...{ ...theirMember, generationId: 12 },
        groupAssignment: [{ memberId: "m-2", memberAssignment: userData }],
      }),
    ],
    [heartbeat(member), theirs("heartbeat", 3, { ...theirMember, groupGenerationId: 12 })],
    [leaveGroup(member), theirs("leaveGroup", 1, theirMember)],
  ] as const;
  for (const [ours, their] of rows) {
    test(ours.api, async () => {
      assert.deepEqual(encodeRequest(ours), (await their.encode()).buffer);
      assert.deepEqual(apis[ours.api], { key: their.apiKey, version: their.apiVersion });
    });
  }
});

describe("an answer to a group request", () => {
  test("to a leader holds all members", () => {
    const to = new WireWriter().int32(0).int16(0).int32(13).string("rule").string("m-1").string("m-1");
    to.array(["m-1", "m-2"], (memberId) => to.string(memberId).string(null).blob(userData));
    const request = joinGroup(
      member,
      { name: "rule", metadata: userData },
      { sessionTimeoutMs: 1, rebalanceTimeoutMs: 1 },
    );
    assert.deepEqual(decodeAnswer(request, to.bytes), {
      ...{ errorCode: 0, generation: 13, leaderId: "m-1", memberId: "m-1" },
      members: ["m-1", "m-2"].map((memberId) => ({ memberId, metadata: userData })),
    });
  });

  test("holds the assignment of the member, or only a code", () => {
    const synced = new WireWriter().int32(0).int16(0).blob(userData).bytes;
    assert.deepEqual(decodeAnswer(syncGroup(member, []), synced), { errorCode: 0, assignment: userData });
    const refused = new WireWriter().int32(0).int16(27).bytes;
    assert.deepEqual(decodeAnswer(heartbeat(member), refused), { errorCode: 27 });
    assert.deepEqual(decodeAnswer(leaveGroup(member), refused), { errorCode: 27 });
  });
});
