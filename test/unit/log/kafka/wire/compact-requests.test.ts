// Requests in compact versions, byte by byte: kafkajs knows none of these versions.

import assert from "node:assert/strict";
import { test } from "node:test";
import { offsetFetch } from "../../../../../src/log/kafka/wire/cluster-requests.ts";
import { decodeAnswer, encodeRequest } from "../../../../../src/log/kafka/wire/protocol.ts";
import {
  describeProducers,
  describeTransaction,
  listTransactions,
  txnOffsetCommit,
} from "../../../../../src/log/kafka/wire/transaction-requests.ts";
import { WireWriter } from "../../../../../src/log/kafka/wire/wire-bytes.ts";

const NO_TAGS = 0;
const int32 = (value: number) => [value >> 24, value >> 16, value >> 8, value].map((byte) => byte & 0xff);
const int64 = (value: number) => [...int32(Math.floor(value / 2 ** 32)), ...int32(value)];
/** Lengths are written plus one. */
const text = (value: string) => [value.length + 1, ...Buffer.from(value)];
const listOf = (...items: readonly number[][]) => [items.length + 1, ...items.flat()];
const places = [
  { topic: "a", partition: 1 },
  { topic: "a", partition: 2 },
];

test("offsets are committed with the generation of the member", () => {
  const identity = { transactionalId: "g-0", producerId: 2 ** 33 + 5, epoch: 3 };
  const member = { group: "g", memberId: "m-1", generation: 9 };
  const offsets = places.map((place) => ({ ...place, offset: 40 + place.partition }));
  const offset = (partition: number, value: number) => [
    ...int32(partition),
    ...int64(value),
    ...int32(-1), // leader epoch
    ...[0, NO_TAGS], // no metadata
  ];
  const expected = [
    NO_TAGS,
    ...text("g-0"),
    ...text("g"),
    ...int64(2 ** 33 + 5),
    ...[0, 3],
    ...int32(9),
    ...text("m-1"),
    0, // no instance id
    ...listOf([...text("a"), ...listOf(offset(1, 41), offset(2, 42)), NO_TAGS]),
    NO_TAGS,
  ];
  const request = txnOffsetCommit(identity, member, offsets);
  assert.deepEqual([...encodeRequest(request)], expected);
  const answer = new WireWriter().noTags().int32(0).uvarint(2).compactString("a").uvarint(3);
  answer.int32(1).int16(0).noTags().int32(2).int16(22).noTags().noTags().noTags();
  assert.deepEqual(decodeAnswer(request, answer.bytes), [
    { topic: "a", partition: 1, errorCode: 0 },
    { topic: "a", partition: 2, errorCode: 22 },
  ]);
});

test("only offsets of decided transactions are asked for", () => {
  const request = offsetFetch("g", places);
  const stable = 1;
  const expected = [
    NO_TAGS,
    ...text("g"),
    ...listOf([...text("a"), ...listOf(int32(1), int32(2)), NO_TAGS]),
    ...[stable, NO_TAGS],
  ];
  assert.deepEqual([...encodeRequest(request)], expected);
  const answer = new WireWriter().noTags().int32(0).uvarint(2).compactString("a").uvarint(3);
  answer.int32(1).int64(41).int32(7).compactString("").int16(0).noTags();
  answer.int32(2).int64(-1).int32(-1).compactString(null).int16(88).noTags();
  answer.noTags().int16(0).noTags();
  assert.deepEqual(decodeAnswer(request, answer.bytes), {
    errorCode: 0,
    offsets: [
      { topic: "a", partition: 1, offset: 41, errorCode: 0 },
      { topic: "a", partition: 2, offset: -1, errorCode: 88 },
    ],
  });
});

test("the state of a transaction is requested by its id, with the partitions it writes to", () => {
  const request = describeTransaction("g-0");
  assert.deepEqual([...encodeRequest(request)], [NO_TAGS, ...listOf(text("g-0")), NO_TAGS]);
  const answer = new WireWriter().noTags().int32(0).uvarint(2);
  answer.int16(0).compactString("g-0").compactString("Ongoing");
  answer.int32(60_000).int64(1_700_000_000_000).int64(1000).int16(7);
  answer.uvarint(2).compactString("a").uvarint(3).int32(1).int32(2).noTags();
  answer.noTags().noTags();
  assert.deepEqual(decodeAnswer(request, answer.bytes), [{ errorCode: 0, state: "Ongoing", places }]);
});

test("of the producers of a partition, those with undecided records are read", () => {
  const request = describeProducers(places);
  const expected = [NO_TAGS, ...listOf([...text("a"), ...listOf(int32(1), int32(2)), NO_TAGS]), NO_TAGS];
  assert.deepEqual([...encodeRequest(request)], expected);
  const producer = (to: WireWriter, id: number, begins: number) =>
    to.int64(id).int32(3).int32(8).int64(1_700_000_000_000).int32(0).int64(begins).noTags();
  const answer = new WireWriter().noTags().int32(0).uvarint(2).compactString("a").uvarint(3);
  answer.int32(1).int16(0).compactString(null).uvarint(3);
  producer(producer(answer, 1000, -1), 2 ** 33, 0).noTags();
  answer.int32(2).int16(6).compactString("elsewhere").uvarint(1).noTags();
  answer.noTags().noTags();
  assert.deepEqual(decodeAnswer(request, answer.bytes), [
    { topic: "a", partition: 1, errorCode: 0, undecided: [2 ** 33] },
    { topic: "a", partition: 2, errorCode: 6, undecided: [] },
  ]);
});

test("the ids of producers are read, in whatever state their transactions are", () => {
  const request = listTransactions([2 ** 33]);
  assert.deepEqual([...encodeRequest(request)], [NO_TAGS, 1, ...listOf(int64(2 ** 33)), NO_TAGS]);
  const answer = new WireWriter().noTags().int32(0).int16(0).uvarint(1).uvarint(2);
  answer
    .compactString("g-3")
    .int64(2 ** 33)
    .compactString("Ongoing")
    .noTags()
    .noTags();
  assert.deepEqual(decodeAnswer(request, answer.bytes), { errorCode: 0, transactionalIds: ["g-3"] });
});
