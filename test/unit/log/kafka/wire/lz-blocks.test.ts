import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  BlockOutput,
  OutputFullError,
  readLz4Block,
  readSnappyBlock,
  WRITTEN_BLOCK_BYTES,
  writeLz4Block,
  writeSnappyBlock,
} from "../../../../../src/log/kafka/wire/lz-blocks.ts";

interface Codec {
  readonly name: string;
  readonly write: (block: Buffer) => Buffer;
  readonly read: (block: Buffer, output: BlockOutput) => void;
}

/** Where the declared length of a Snappy block ends. */
const afterLength = (block: Buffer) => block.findIndex((byte) => byte < 0x80) + 1;

const codecs: readonly Codec[] = [
  { name: "LZ4", write: writeLz4Block, read: readLz4Block },
  {
    name: "Snappy",
    write: writeSnappyBlock,
    read: (block, output) => readSnappyBlock(block, afterLength(block), output),
  },
];
const [lz4, snappy] = codecs as readonly [Codec, Codec];

function unpack({ read }: Codec, block: Buffer, maxBytes = WRITTEN_BLOCK_BYTES): Buffer {
  const output = new BlockOutput(maxBytes);
  output.beginBlock(maxBytes);
  read(block, output);
  return output.finished();
}

/** Random bytes, each run followed by a copy of an earlier part, near or far, short or long. */
const pieces = fc.array(
  fc.record({ noise: fc.uint8Array({ maxLength: 400 }), back: fc.nat(60_000), count: fc.nat(3_000) }),
  { maxLength: 40 },
);
function blockOf(given: readonly { noise: Uint8Array; back: number; count: number }[]): Buffer {
  let bytes = Buffer.alloc(0);
  for (const { noise, back, count } of given) {
    const grown = Buffer.concat([bytes, noise]);
    const from = Math.max(0, grown.length - 1 - back);
    bytes = Buffer.concat([grown, grown.subarray(from, from + count)]);
  }
  return bytes.subarray(0, WRITTEN_BLOCK_BYTES);
}

describe("blocks", () => {
  for (const codec of codecs) {
    test(`of ${codec.name} are read as they were written, whatever repeats in them`, () => {
      fc.assert(
        fc.property(pieces, (given) => {
          const block = blockOf(given);
          assert.ok(unpack(codec, codec.write(block)).equals(block));
        }),
        { numRuns: 300 },
      );
      for (const length of [0, 1, 4, 5, 11, 12, 13, 59, 60, 61, 256, 257, 269, 270, 271, WRITTEN_BLOCK_BYTES])
        for (const block of [
          Buffer.alloc(length, "a"),
          Buffer.from(Array.from({ length }, (_, i) => i ^ (i >> 8))),
        ])
          assert.ok(unpack(codec, codec.write(block)).equals(block), `${length} bytes`);
    });

    test(`of ${codec.name} made of any bytes are read to an end, within their limit`, () => {
      const anyBytes = fc.uint8Array({ maxLength: 200 });
      fc.assert(
        fc.property(anyBytes, (bytes) => {
          try {
            assert.ok(unpack(codec, Buffer.from(bytes), 1_000).length <= 1_000);
          } catch (error) {
            assert.match((error as Error).message, /^a block (ends|copies|gives)/);
          }
        }),
        { numRuns: 2_000 },
      );
    });

    test(`of ${codec.name} that exceed the output are distinguished from those that exceed their own limit`, () => {
      const block = codec.write(Buffer.alloc(1_000, "abc"));
      assert.throws(() => unpack(codec, block, 999), /gives more than it may/);
      const output = new BlockOutput(999);
      output.beginBlock(1_000);
      assert.throws(() => codec.read(block, output), OutputFullError);
    });
  }

  test("of LZ4 copy from the previous block only if they are linked", () => {
    // No literals, four bytes from six before, then one literal.
    const block = Buffer.from([0x00, 6, 0, 0x10, 0x21]);
    const output = new BlockOutput(100);
    output.beginBlock(6);
    output.literals(Buffer.from("sensor"), 0, 6);
    output.beginBlock(94, true);
    readLz4Block(block, output);
    assert.equal(output.finished().toString(), "sensorsens!");
    output.beginBlock(50);
    assert.throws(() => readLz4Block(block, output), /copies from before its beginning/);
  });

  test("of LZ4 that end within a length or a distance are refused", () => {
    for (const bytes of [[0xf0], [0xf0, 255], [0x10], [0x11, 0x61, 1], [0x1f, 0x61, 1, 0]])
      assert.throws(() => unpack(lz4, Buffer.from(bytes)), /ends too early/);
  });

  test("of Snappy may have lengths of up to four bytes and distances of four", () => {
    const text = Buffer.from("abcdefgh");
    for (const [size, tag] of [
      [1, 60],
      [2, 61],
      [3, 62],
      [4, 63],
    ] as const) {
      const length = Buffer.alloc(size);
      length.writeUIntLE(text.length - 1, 0, size);
      const copy = Buffer.from([((8 - 1) << 2) | 3, 8, 0, 0, 0]);
      const block = Buffer.concat([Buffer.from([16, tag << 2]), length, text, copy]);
      assert.equal(unpack(snappy, block).toString(), "abcdefghabcdefgh");
    }
  });

  test("of Snappy that are cut off or claim gigabytes of literals are refused", () => {
    for (const bytes of [
      [4, 63 << 2, 0xff, 0xff, 0xff, 0xff],
      [4, 63 << 2, 0xf0, 0xff, 0xff, 0xff, 1, 2],
      [4, 60 << 2],
      [4, 0, 0x61, 1],
      [4, 0, 0x61, 2, 1],
      [4, 0, 0x61, 3, 0, 0, 0, 0x80],
    ])
      assert.throws(
        () => unpack(snappy, Buffer.from(bytes)),
        /ends too early|before its beginning|than it may/,
      );
  });
});
