import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { fromDeadLetterHeaders, toDeadLetter } from "../../../../../src/log/dead-letter.ts";
import {
  type EncodableRecord,
  encodedBytes,
  encodeRecordBatch,
} from "../../../../../src/log/kafka/producer.ts";
import { BATCH_HEADER_BYTES } from "../../../../../src/log/kafka/wire/batch-layout.ts";
import { mostHeadersRead } from "../../../../../src/log/record-size.ts";
import { altered, around, codecs, only, plain, record, stored } from "./batch-bytes.ts";

const content = fc.option(
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  { nil: null },
);
const text = fc.string({ unit: "binary", maxLength: 40 });
const anyRecord: fc.Arbitrary<EncodableRecord> = fc.record(
  {
    key: content,
    value: content,
    headers: fc.array(fc.record({ key: text, value: content }), { maxLength: 5 }),
  },
  { requiredKeys: ["key", "value"] },
);
const anyRecords = fc.array(anyRecord, { minLength: 1, maxLength: 200 });

const asRead = ({ key, value, headers = [] }: EncodableRecord) => ({
  ...{ key, value },
  // Generated objects may have no prototype.
  headers: headers.map((header) => ({ ...header })),
});

describe("a record batch", () => {
  for (const compression of codecs) {
    test(`is read as it was written with ${compression}`, () => {
      const numbers = fc.record({
        producerId: fc.integer({ min: -1, max: Number.MAX_SAFE_INTEGER }),
        producerEpoch: fc.integer({ min: -1, max: 32_767 }),
        firstSequence: fc.integer({ min: -1, max: 2 ** 31 - 1 }),
        isTransactional: fc.boolean(),
        timestampMs: fc.integer({ min: 0, max: 2 ** 45 }),
      });
      fc.assert(
        fc.property(anyRecords, numbers, fc.bigInt(0n, 2n ** 50n), (records, options, base) => {
          const batch = only(stored(encodeRecordBatch(records, { ...options, compression }), base));
          const { records: found, rawBytes: _, memoryBytes, ...facts } = batch;
          assert.ok(memoryBytes > 100 * records.length, `${memoryBytes} bytes`);
          assert.deepEqual(facts, {
            firstOffset: Number(base),
            nextOffset: Number(base) + records.length,
            producerId: options.producerId,
            isTransactional: options.isTransactional,
            isControl: false,
            maxTimestampMs: options.timestampMs,
            failure: null,
          });
          assert.deepEqual(
            found,
            records.map((each, i) => ({
              ...asRead(each),
              offset: Number(base) + i,
              timestampMs: options.timestampMs,
            })),
          );
        }),
        { numRuns: 60 },
      );
    });
  }

  test("of many records is compressed, and one that would grow is stored uncompressed", () => {
    const many = Array.from({ length: 1_000 }, (_, i) => record(`{"sensor":"a","value":${i}}`));
    const codecIdOf = (batch: Buffer) => batch.readInt16BE(21) & 7;
    assert.equal(codecIdOf(encodeRecordBatch(many, { ...plain, compression: "zstd" })), 4);
    assert.equal(codecIdOf(encodeRecordBatch([record("x")], { ...plain, compression: "zstd" })), 0);
  });

  test("without records cannot be written", () => {
    assert.throws(() => encodeRecordBatch([], plain), /without records/);
  });

  test("has at most the estimated size of its header and records, and hardly less", () => {
    fc.assert(
      fc.property(anyRecords, (records) => {
        const told = BATCH_HEADER_BYTES + records.reduce((sum, each) => sum + encodedBytes(each), 0);
        const taken = encodeRecordBatch(records, plain).length;
        assert.ok(taken <= told && told <= taken + 5 * records.length, `${taken} taken, ${told} told`);
      }),
    );
  });

  const manyHeaders = (count: number) =>
    Array.from({ length: count }, (_, i) => ({
      key: `h${i % 3}`,
      value: i % 5 === 0 ? null : Buffer.from(String(i)),
    }));

  test("keeps the headers of a record in order, including repeated names and null values", () => {
    const headers = manyHeaders(mostHeadersRead);
    const [found] = only(encodeRecordBatch([{ ...record("v"), headers }], plain)).records;
    assert.deepEqual(found?.headers, headers);
    assert.equal(found?.headerCount, undefined);
  });

  test("keeps the first thousand of 100,000 headers and their number, and reads the next record", () => {
    const headers = manyHeaders(100_000);
    const batch = only(encodeRecordBatch([{ ...record("v"), headers }, record("next")], plain));
    const [found, next] = batch.records;
    assert.deepEqual(found?.headers, headers.slice(0, mostHeadersRead));
    assert.equal(found?.headerCount, 100_000);
    assert.deepEqual([next?.value?.toString(), next?.headerCount], ["next", undefined]);
  });

  test("keeps all headers of a dead letter, whose own headers come last", () => {
    const origin = { topic: "in", partition: 0, record: { ...record("v"), offset: 0, timestampMs: 1 } };
    const headers = manyHeaders(100_000).slice(0, mostHeadersRead);
    const cut = { ...origin, record: { ...origin.record, headers, headerCount: 100_000 } };
    const to = { topic: "dead", partitions: 1, maxBytes: 1_000_000 };
    const letter = toDeadLetter(cut, { reason: "undecodable", detail: "x" }, to);
    const [found] = only(encodeRecordBatch([letter], plain)).records;
    assert.equal(fromDeadLetterHeaders(found?.headers ?? [])?.truncated, "99000 headers dropped");
  });

  test("is refused if a header beyond the limit is malformed", () => {
    // A record of 1,500 headers of two bytes each: an empty name and no value.
    const headers = Buffer.alloc(3_000, Buffer.from([0, 1]));
    const body = Buffer.concat([Buffer.from([0, 0, 0, 1, 1, 0xb8, 0x17]), headers]);
    const length = Buffer.from([0xfe, 0x2e]); // zigzag of 3,007
    const whole = only(around(Buffer.concat([length, body]), 1));
    assert.deepEqual([whole.failure, whole.records[0]?.headerCount], [null, 1_500]);
    for (const [bytes, reason] of [
      [[0, 3], /a length in it is invalid/], // a value of length −2
      [[0, 0x7e], /a length in it is invalid/], // a value past the end
      [[1, 1], /a length in it is invalid/], // a name of length −1
      [[0, 2], /does not match its content|a length in it is invalid/], // a value of one byte too many
    ] as const) {
      const damaged = Buffer.from(body);
      damaged.set(bytes, damaged.length - 2);
      assert.match(String(only(around(Buffer.concat([length, damaged]), 1)).failure), reason);
    }
  });

  test("has views of the response, not copies", () => {
    const bytes = encodeRecordBatch([record("value", "key")], plain);
    const [found] = only(bytes).records;
    assert.equal(found?.key?.buffer, bytes.buffer);
    assert.equal(found?.value?.buffer, bytes.buffer);
  });

  test("has the times of its records, or the broker's if the topic says so", () => {
    // Attributes, timestamp delta −2 (zigzag 3), offset delta 0, no key, no value, no headers.
    const records = Buffer.from([12, 0, 3, 0, 1, 1, 0]);
    const created = around(records, 1);
    assert.equal(only(created).records[0]?.timestampMs, plain.timestampMs - 2);
    const appended = altered(created, (copy) => {
      copy.writeInt16BE(8, 21);
      copy.writeBigInt64BE(5n, 35);
    });
    assert.equal(only(appended).records[0]?.timestampMs, 5);
  });

  test("may have a timestamp delta of 64 bits", () => {
    const delta = (...zigzag: number[]) =>
      only(around(Buffer.from([2 * (5 + zigzag.length), 0, ...zigzag, 0, 1, 1, 0]), 1));
    const ninefold = Array<number>(9).fill(0xff);
    assert.equal(delta(...ninefold, 0x01).records[0]?.timestampMs, plain.timestampMs - 2 ** 63);
    assert.equal(
      delta(0x80, 0x80, 0x80, 0x80, 0x80, 0x01).records[0]?.timestampMs,
      plain.timestampMs + 2 ** 34,
    );
    assert.match(String(delta(...ninefold, 0xff, 0x01).failure), /a number in it does not end/);
  });

  test("ends at the same offset after compaction", () => {
    const thinned = altered(encodeRecordBatch([record("a")], plain), (copy) => copy.writeInt32BE(9, 23));
    assert.equal(only(stored(thinned, 100n)).nextOffset, 110);
    const emptied = around(Buffer.alloc(0), 0);
    const batch = only(altered(emptied, (copy) => copy.writeInt32BE(9, 23)));
    assert.deepEqual([batch.records, batch.failure, batch.nextOffset], [[], null, 10]);
  });

  for (const [type, name] of [
    [0, "abort"],
    [1, "commit"],
  ] as const) {
    test(`that marks the ${name} of a transaction is a control batch without records`, () => {
      const key = Buffer.from([0, 0, 0, type]);
      const marker = encodeRecordBatch([{ key, value: Buffer.alloc(6) }], { ...plain, producerId: 77 });
      const batch = only(altered(marker, (copy) => copy.writeInt16BE(0x30, 21)));
      const { isControl, isTransactional, records, failure, producerId } = batch;
      assert.deepEqual(
        { isControl, isTransactional, records, failure, producerId },
        { isControl: true, isTransactional: true, records: [], failure: null, producerId: 77 },
      );
    });
  }
});
