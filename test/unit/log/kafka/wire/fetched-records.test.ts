import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { encodeRecordBatch } from "../../../../../src/log/kafka/producer.ts";
import { BATCH_HEADER_BYTES } from "../../../../../src/log/kafka/wire/batch-layout.ts";
import { committedRecords, decodeRecordSet } from "../../../../../src/log/kafka/wire/fetched-records.ts";
import { altered, around, codecs, LIMIT, only, plain, record, stored } from "./batch-bytes.ts";

describe("a record set", () => {
  const first = stored(encodeRecordBatch([record("a"), record("b")], plain), 10n);
  const second = stored(encodeRecordBatch([record("c")], plain), 12n);

  test("is split into its batches in order, each with its bytes, without one that is cut off", () => {
    const whole = Buffer.concat([first, second]);
    for (let length = 0; length <= whole.length; length++) {
      const batches = decodeRecordSet(whole.subarray(0, length), LIMIT);
      const wanted = length < first.length ? [] : length < whole.length ? [first] : [first, second];
      assert.deepEqual(
        batches.map(({ rawBytes }) => rawBytes),
        wanted,
      );
      assert.ok(batches.every(({ failure }) => failure === null));
    }
  });

  test("skips a batch with a wrong checksum by its offsets, and continues with the next one", () => {
    const damaged = Buffer.from(first);
    damaged[first.length - 2] = 0x55;
    const [bad, good] = decodeRecordSet(Buffer.concat([damaged, second]), LIMIT);
    assert.equal(bad?.failure, "the checksum of the batch does not match its content");
    assert.deepEqual([bad?.records, bad?.firstOffset, bad?.nextOffset], [[], 10, 12]);
    assert.deepEqual([good?.failure, good?.records.length], [null, 1]);
  });

  test("never lets a damaged batch skip the batch after it, nor go back", () => {
    for (const [delta, nextOffset] of [
      [0x7fffffff, 12],
      [-5, 11],
    ] as const) {
      const damaged = Buffer.from(first);
      damaged.writeInt32BE(delta, 23);
      const [bad] = decodeRecordSet(Buffer.concat([damaged, second]), LIMIT);
      assert.notEqual(bad?.failure, null);
      assert.equal(bad?.nextOffset, nextOffset);
    }
  });

  for (const magic of [0, 1, 3]) {
    test(`skips a message of format ${magic} by its own offset`, () => {
      const message = Buffer.alloc(12 + 22);
      message.writeBigInt64BE(41n);
      message.writeInt32BE(22, 8);
      message.writeInt8(magic, 16);
      const [old, good] = decodeRecordSet(Buffer.concat([message, second]), LIMIT);
      assert.equal(old?.failure, `message format ${magic} is not supported, only 2 is`);
      assert.deepEqual([old?.firstOffset, old?.nextOffset, good?.records.length], [41, 42, 1]);
    });
  }

  test("reports a batch that is too large when decompressed, damaged or of an unknown codec", () => {
    const zeros = [{ key: null, value: Buffer.alloc(100_000) }];
    for (const compression of codecs.filter((codec) => codec !== "none")) {
      const batch = encodeRecordBatch(zeros, { ...plain, compression });
      assert.match(String(only(batch, 50_000).failure), /take more than 50000 bytes/);
      const cut = altered(batch, (copy) => copy.fill(0xee, BATCH_HEADER_BYTES));
      assert.match(String(only(cut).failure), /cannot be decompressed|take more than/);
    }
    const unknown = altered(first, (copy) => copy.writeInt16BE(7, 21));
    assert.match(String(only(unknown).failure), /codec 7, which is unknown/);
  });

  test("reports records that do not match their batch, each with the reason", () => {
    const cases: readonly [string, Buffer, number, RegExp][] = [
      ["fewer than declared", Buffer.from([12, 0, 0, 0, 1, 1, 0]), 2, /a number in it does not end/],
      ["more than declared", Buffer.from([12, 0, 0, 0, 1, 1, 0, 0]), 1, /does not hold the 1 records/],
      ["a negative count", Buffer.alloc(0), -1, /does not hold the -1 records/],
      ["a length too short", Buffer.from([10, 0, 0, 0, 1, 1, 0]), 1, /does not match its content/],
      ["a key past the end", Buffer.from([12, 0, 0, 0, 100, 1, 0]), 1, /a length in it is invalid/],
      ["a key of length −2", Buffer.from([12, 0, 0, 0, 3, 1, 0]), 1, /a length in it is invalid/],
      ["an offset past the last", Buffer.from([12, 0, 0, 2, 1, 1, 0]), 1, /offset is outside/],
      ["a negative number of headers", Buffer.from([12, 0, 0, 0, 1, 1, 1]), 1, /headers is negative/],
    ];
    for (const [name, records, count, reason] of cases) {
      const batch = only(around(records, count));
      assert.match(String(batch.failure), reason, name);
      assert.deepEqual(batch.records, [], name);
    }
  });

  test("of any bytes is read without an error, and every batch advances", () => {
    const check = (bytes: Buffer) => {
      for (const { firstOffset, nextOffset } of decodeRecordSet(bytes, 1_000_000))
        assert.ok(nextOffset > firstOffset || Math.abs(firstOffset) > Number.MAX_SAFE_INTEGER);
    };
    fc.assert(fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => check(Buffer.from(bytes))));
    const packed = codecs.map((compression) =>
      encodeRecordBatch(
        Array.from({ length: 50 }, (_, i) => ({
          ...record(`value ${i % 7}`, "k"),
          headers: [{ key: "h", value: Buffer.from("v") }],
        })),
        { ...plain, compression },
      ),
    );
    const flips = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(fc.constantFrom(...packed), flips, fc.boolean(), (batch, places, isResealed) => {
        const damage = (copy: Buffer) => {
          for (const [place, flip] of places) {
            const at = place % copy.length;
            copy[at] = (copy[at] as number) ^ flip;
          }
        };
        const bytes = Buffer.from(batch);
        if (!isResealed) damage(bytes);
        check(Buffer.concat([isResealed ? altered(batch, damage) : bytes, first]));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("the memory limit of a batch", () => {
  const empty = Buffer.from([12, 0, 0, 0, 1, 1, 0]);
  const repeated = (record: Buffer, count: number) => Buffer.alloc(record.length * count, record);

  test("allows 400,000 records, and not 500,000", () => {
    const small = only(around(repeated(empty, 400_000), 400_000));
    assert.deepEqual([small.failure, small.records.length], [null, 400_000]);
    const large = only(around(repeated(empty, 500_000), 500_000));
    assert.equal(
      large.failure,
      "the records and headers of the batch would take more than 134217728 bytes in memory",
    );
    assert.deepEqual(large.records, []);
  });

  test("applies to the declared number of records, and no more than that are read", () => {
    assert.match(String(only(around(empty, 2 ** 31 - 1)).failure), /would take more than/);
    assert.match(String(only(around(repeated(empty, 500_000), 3)).failure), /does not hold the 3 records/);
  });

  test("does not allow a million headers, however many records have them", () => {
    // 1,000 headers of two bytes each: an empty name and an empty value.
    const record = Buffer.alloc(2 + 7 + 2_000);
    Buffer.from([0xae, 0x1f, 0, 0, 0, 1, 1, 0xd0, 0x0f]).copy(record);
    const few = only(around(repeated(record, 500), 500));
    assert.deepEqual([few.failure, few.records[499]?.headers.length], [null, 1_000]);
    assert.match(String(only(around(repeated(record, 1_000), 1_000)).failure), /would take more than/);
  });

  test("applies to a record set, too, whose further batches are left to the next fetch", () => {
    const zeros = [{ key: null, value: Buffer.alloc(20 * 1024 * 1024) }];
    const bytes = encodeRecordBatch(zeros, { ...plain, compression: "gzip" });
    const batches = Array.from({ length: 6 }, (_, i) => stored(bytes, BigInt(i)));
    const offsets = (from: number) =>
      decodeRecordSet(Buffer.concat(batches.slice(from)), 64 * 1024 * 1024).map((batch) => batch.firstOffset);
    assert.deepEqual(offsets(0), [0, 1, 2, 3]);
    assert.deepEqual(offsets(4), [4, 5]);
  });
});

const CONTROL_BITS = 0x30;

/** A batch of one transaction whose values name their offsets. */
function batch(firstOffset: number, producerId: number, count = 1, isTransactional = true): Buffer {
  const records = Array.from({ length: count }, (_, i) => ({
    ...{ key: null, value: Buffer.from(`v${firstOffset + i}`) },
  }));
  const options = { ...plain, producerId, producerEpoch: 0, firstSequence: 0, isTransactional };
  return stored(encodeRecordBatch(records, options), BigInt(firstOffset));
}

/** The batch that ends a transaction: its key is a version, then 0 for aborted or 1 for committed. */
function marker(offset: number, producerId: number, type: 0 | 1): Buffer {
  const key = Buffer.from([0, 0, 0, type]);
  const bytes = encodeRecordBatch([{ key, value: Buffer.alloc(6) }], { ...plain, producerId });
  return stored(
    altered(bytes, (copy) => copy.writeInt16BE(CONTROL_BITS, 21)),
    BigInt(offset),
  );
}

function committedFrom(
  fromOffset: number,
  batches: readonly Buffer[],
  aborted: readonly (readonly [producerId: number, firstOffset: number])[] = [],
) {
  const transactions = aborted.map(([producerId, firstOffset]) => ({ producerId, firstOffset }));
  return committedRecords(Buffer.concat(batches), transactions, fromOffset, LIMIT);
}

const offsetsFrom = (...args: Parameters<typeof committedFrom>): number[] =>
  committedFrom(...args).records.map(({ offset }) => offset);

const [A, B, C] = [1, 2, 3];

describe("among the fetched records", () => {
  test("markers that end transactions are left out", () => {
    assert.deepEqual(offsetsFrom(0, [batch(0, A), marker(1, A, 1), batch(2, A), marker(3, A, 1)]), [0, 2]);
  });

  test("records of an aborted transaction are left out, and those of the next transaction are not", () => {
    const batches = [batch(0, A), batch(1, B), marker(2, A, 0), batch(3, A), marker(4, A, 1)];
    assert.deepEqual(offsetsFrom(0, batches, [[A, 0]]), [1, 3]);
  });

  test("records of an aborted transaction that started before the answer are left out", () => {
    assert.deepEqual(offsetsFrom(5, [batch(5, A), marker(6, A, 0), batch(7, A)], [[A, 2]]), [7]);
  });

  test("records before the requested offset are left out", () => {
    assert.deepEqual(offsetsFrom(2, [batch(0, A, 4)]), [2, 3]);
  });

  test("records of interleaved transactions are distinguished, whatever the order of the list", () => {
    const batches = [
      ...[batch(0, A, 2), batch(2, B), batch(3, C), marker(4, B, 0), batch(5, A), batch(6, B)],
      ...[marker(7, A, 0), batch(8, A), marker(9, B, 1), marker(10, C, 1), batch(11, C), marker(12, A, 0)],
    ];
    const aborted = [
      [A, 8],
      [B, 2],
      [A, 0],
      [C, 11],
    ] as const;
    assert.deepEqual(offsetsFrom(0, batches, aborted), [3, 6]);
  });

  test("records of a producer outside transactions stay while its transaction is being aborted", () => {
    assert.deepEqual(offsetsFrom(0, [batch(0, A), batch(1, A, 1, false), marker(2, A, 0)], [[A, 0]]), [1]);
  });

  test("records that a producer wrote before its aborted transaction stay", () => {
    const batches = [batch(0, A), marker(1, A, 1), batch(2, A), marker(3, A, 0)];
    assert.deepEqual(offsetsFrom(0, batches, [[A, 2]]), [0]);
  });
});

describe("the position after a fetch", () => {
  test("is after markers and aborted records, too", () => {
    assert.equal(committedFrom(0, [batch(0, A, 3), marker(3, A, 0)], [[A, 0]]).nextOffset, 4);
  });

  test("stays if no whole batch came", () => {
    assert.equal(committedFrom(7, []).nextOffset, 7);
    assert.equal(committedFrom(7, [batch(7, A).subarray(0, 40)]).nextOffset, 7);
  });

  test("does not go back to a batch that ends before it", () => {
    assert.equal(committedFrom(9, [batch(5, A)]).nextOffset, 9);
  });
});

describe("a batch that cannot be read", () => {
  const damaged = (offset: number, count: number) => {
    const copy = Buffer.from(batch(offset, A, count, false));
    copy[copy.length - 1] ^= 0xff;
    return copy;
  };

  test("becomes one record with the reason and the raw bytes, and is skipped", () => {
    const bad = damaged(4, 3);
    const { records, nextOffset } = committedFrom(3, [batch(3, B, 1, false), bad, batch(7, B, 1, false)]);
    assert.deepEqual(
      records.map(({ offset }) => offset),
      [3, 6, 7],
    );
    assert.match(records[1].unreadable ?? "", /^the record batch at offset 4 cannot be read: the checksum/);
    assert.deepEqual(records[1].value, bad);
    assert.equal(nextOffset, 8);
  });

  describe("has the time", () => {
    const NOW_MS = plain.timestampMs + 5_000;
    const clock = { nowMs: () => NOW_MS };
    const timeOf = (bytes: Buffer) =>
      committedRecords(bytes, [], 0, LIMIT, clock).records.at(-1)?.timestampMs;
    const bad = damaged(4, 3);
    const dated = (timestampMs: bigint) => {
      const copy = Buffer.from(bad);
      copy.writeBigInt64BE(timestampMs, 35);
      return copy;
    };
    const before = stored(
      encodeRecordBatch([{ key: null, value: null }], { ...plain, timestampMs: NOW_MS - 7 }),
      3n,
    );

    test("of its header", () => {
      assert.equal(timeOf(Buffer.concat([before, bad])), plain.timestampMs);
    });

    for (const [what, told] of [
      ["none", -1n],
      ["the epoch", 0n],
      ["a time long before it", -(2n ** 60n)],
      ["a time far ahead", 2n ** 60n],
      ["the day after tomorrow", BigInt(NOW_MS + 2 * 24 * 3_600_000)],
    ] as const) {
      test(`of the record before it if the header has ${what}, or else of our clock`, () => {
        assert.equal(timeOf(Buffer.concat([before, dated(told)])), NOW_MS - 7);
        assert.equal(timeOf(dated(told)), NOW_MS);
      });
    }

    test("of our clock if it is a message of an older format", () => {
      const message = Buffer.alloc(12 + 22);
      message.writeInt32BE(22, 8);
      message.writeInt8(1, 16);
      assert.equal(timeOf(message), NOW_MS);
    });
  });

  test("is left out if it ends before the requested offset", () => {
    assert.deepEqual(offsetsFrom(7, [damaged(4, 3), batch(7, B)]), [7]);
  });

  test("is left out if its transaction was aborted", () => {
    const bad = Buffer.from(batch(0, A));
    bad[bad.length - 1] ^= 0xff;
    assert.deepEqual(offsetsFrom(0, [bad, marker(1, A, 0)], [[A, 0]]), []);
  });

  test("is reported if it would exceed the limit", () => {
    const large = [{ key: null, value: Buffer.alloc(10_000) }];
    const bytes = encodeRecordBatch(large, { ...plain, compression: "gzip" });
    const { records } = committedRecords(stored(bytes, 0n), [], 0, 1_000);
    assert.match(records[0].unreadable ?? "", /cannot be read/);
  });
});
