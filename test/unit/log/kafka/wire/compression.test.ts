import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import {
  type Compression,
  codecIdOf,
  compress,
  decompress,
} from "../../../../../src/log/kafka/wire/compression.ts";
import { WRITTEN_BLOCK_BYTES, writeSnappyBlock } from "../../../../../src/log/kafka/wire/lz-blocks.ts";

const codecs: readonly Compression[] = ["none", "gzip", "snappy", "lz4", "zstd"];
const packing = codecs.filter((codec) => codec !== "none");
const MEBIBYTE = 1024 * 1024;
const zeros = Buffer.alloc(8 * MEBIBYTE);
/** Compressible, but not to nothing. */
const readings = Buffer.from(
  Array.from({ length: 20_000 }, (_, i) => `{"sensor":"s-${i % 97}","value":${Math.sin(i)}}`).join("\n"),
);

const unpack = (codec: Compression, bytes: Buffer, maxBytes = 64 * MEBIBYTE) =>
  decompress(codecIdOf(codec), bytes, maxBytes);

/** A frame without a declared size, of blocks that are stored or repeat one byte. */
function zstdFrame(...blocks: readonly { readonly stored?: string; readonly repeat?: number }[]): Buffer {
  const parts = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58])];
  blocks.forEach(({ stored, repeat }, i) => {
    const isLast = Number(i === blocks.length - 1);
    const header = Buffer.alloc(3);
    header.writeUIntLE(
      (((repeat ?? stored?.length ?? 0) << 3) | (stored === undefined ? 2 : 0)) + isLast,
      0,
      3,
    );
    parts.push(header, Buffer.from(stored ?? "x"));
  });
  return Buffer.concat(parts);
}

/** A stored block, and a linked block that repeats it. */
const linkedLz4Frame = Buffer.concat([
  // Blocks refer to one another, each has a checksum, the content has one too and its size is declared.
  Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x5c, 0x40, 12, 0, 0, 0, 0, 0, 0, 0, 0x00]),
  Buffer.from([6, 0, 0, 0x80, ...Buffer.from("sensor"), 1, 2, 3, 4]),
  // One match of four bytes at distance 6, then the two last bytes of "sensor" as literals.
  Buffer.from([6, 0, 0, 0, 0x00, 6, 0, 0x20, ...Buffer.from("or"), 1, 2, 3, 4]),
  Buffer.from([0, 0, 0, 0, 9, 9, 9, 9]),
]);

describe("compression", () => {
  for (const codec of codecs) {
    test(`${codec} decompresses what it has compressed to the same bytes`, () => {
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 3_000 }), fc.integer({ min: 0, max: 100 }), (given, times) => {
          const bytes = Buffer.concat(Array.from({ length: times }, () => given));
          assert.ok(unpack(codec, compress(codec, bytes)).equals(bytes));
        }),
      );
      assert.ok(unpack(codec, compress(codec, readings)).equals(readings));
    });
  }

  for (const codec of packing) {
    test(`${codec} compresses readings to less than half`, () => {
      assert.ok(compress(codec, readings).length < readings.length / 2);
    });

    test(`${codec} records of exactly the limit are read, and one byte more is refused with a message`, () => {
      const packed = compress(codec, readings);
      assert.equal(unpack(codec, packed, readings.length).length, readings.length);
      assert.throws(() => unpack(codec, packed, readings.length - 1), {
        message: `the ${codec} records take more than ${readings.length - 1} bytes when decompressed`,
      });
    });

    test(`${codec} records far beyond the limit are refused before memory is allocated`, () => {
      const bomb = compress(codec, zeros);
      // Counts all buffers, but not the internal memory of a library.
      const before = process.memoryUsage().arrayBuffers;
      assert.throws(() => unpack(codec, bomb, 100_000), /take more than 100000 bytes/);
      assert.ok(process.memoryUsage().arrayBuffers - before < 6 * MEBIBYTE);
    });

    test(`damaged ${codec} records are refused with a message and never exceed the limit`, () => {
      const packed = compress(codec, readings.subarray(0, 20_000));
      const place = fc.nat(packed.length - 1);
      fc.assert(
        fc.property(place, fc.integer({ min: 1, max: 255 }), place, (at, flip, length) => {
          const damaged = Buffer.from(packed);
          damaged[at] = (damaged[at] as number) ^ flip;
          for (const bytes of [damaged, packed.subarray(0, length)]) {
            try {
              assert.ok(unpack(codec, bytes, MEBIBYTE).length <= MEBIBYTE);
            } catch (error) {
              assert.match((error as Error).message, new RegExp(`^the ${codec} records (cannot|take more)`));
            }
          }
        }),
        { numRuns: 300 },
      );
    });
  }

  for (const codecId of [5, 6, 7]) {
    test(`the unknown codec ${codecId} is refused by its number`, () => {
      assert.throws(() => decompress(codecId, readings, MEBIBYTE), {
        message: `the records are compressed with codec ${codecId}, which is unknown`,
      });
    });
  }

  test("a bare snappy block, as librdkafka writes it, is read", () => {
    const block = writeSnappyBlock(readings.subarray(0, WRITTEN_BLOCK_BYTES));
    assert.ok(unpack("snappy", block).equals(readings.subarray(0, WRITTEN_BLOCK_BYTES)));
  });

  test("snappy is written in the framing that Java clients read", () => {
    const packed = compress("snappy", Buffer.from("a"));
    assert.equal(packed.toString("hex"), "82534e41505059000000000100000001000000030100" + "61");
  });

  test("a snappy block that declares 4 GiB is refused before memory is allocated", () => {
    assert.throws(() => unpack("snappy", Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f, 0])), /take more than/);
  });

  test("an LZ4 frame with linked blocks, checksums and a content size is read", () => {
    assert.equal(unpack("lz4", linkedLz4Frame).toString(), "sensorsensor");
  });

  test("consecutive LZ4 frames are read together", () => {
    const frames = Buffer.concat([compress("lz4", Buffer.from("ab")), compress("lz4", Buffer.from("cd"))]);
    assert.equal(unpack("lz4", frames).toString(), "abcd");
  });

  test("LZ4 is written in independent blocks", () => {
    assert.equal((compress("lz4", readings)[4] as number) & 0x20, 0x20);
  });

  test("a zstd frame without a content size is read, as are a skippable frame and another frame after it", () => {
    const skippable = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 7, 7, 7]);
    const frames = Buffer.concat([
      zstdFrame({ stored: "ab" }, { repeat: 3 }),
      skippable,
      compress("zstd", Buffer.from("cd")),
    ]);
    assert.equal(unpack("zstd", frames).toString(), "abxxxcd");
  });

  test("a zstd frame without a content size that exceeds the limit is refused as too large", () => {
    const bomb = zstdFrame(...Array.from({ length: 1_000 }, () => ({ repeat: 128 * 1024 })));
    assert.throws(() => unpack("zstd", bomb, MEBIBYTE), /take more than 1048576 bytes/);
  });

  test("consecutive gzip members are read together", () => {
    const members = Buffer.concat([gzipSync("ab"), gzipSync("cd")]);
    assert.equal(unpack("gzip", members).toString(), "abcd");
  });
});
