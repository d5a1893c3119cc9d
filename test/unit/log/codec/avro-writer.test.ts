// The slabs of the writer: a finished value never changes, however much is written after it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { AvroWriter } from "../../../../src/log/codec/avro-writer.ts";

const prefix = Buffer.from("prefix");

function write(writer: AvroWriter, text: string): Buffer {
  writer.begin(prefix);
  writer.writeString(text);
  return writer.end();
}

/** The length of a short text takes one byte, zigzag. */
function expected(text: string): Buffer {
  return Buffer.concat([prefix, Buffer.from([2 * text.length]), Buffer.from(text)]);
}

test("a finished value does not change while many slabs are filled after it", () => {
  const writer = new AvroWriter();
  const texts = Array.from({ length: 20_000 }, (_, i) => `value ${i}`);
  const written = texts.map((text) => write(writer, text));
  for (const [i, text] of texts.entries()) assert.deepEqual(written[i], expected(text));
});

test("a value larger than a slab is complete, and so is the value after it", () => {
  const writer = new AvroWriter();
  writer.begin(prefix);
  writer.writeDoubles(new Array<number>(100_000).fill(0.5));
  const large = writer.end();
  const small = write(writer, "after");
  assert.equal(large.length, prefix.length + 3 + 8 * 100_000 + 1);
  assert.equal(large.readDoubleLE(prefix.length + 3), 0.5);
  assert.equal(large.readDoubleLE(large.length - 9), 0.5);
  assert.deepEqual(small, expected("after"));
});

test("a value that failed halfway leaves the next value complete", () => {
  const writer = new AvroWriter();
  writer.begin(prefix);
  assert.throws(() => writer.writeLong(0.5), TypeError);
  assert.deepEqual(write(writer, "next"), expected("next"));
});

test("typed arrays written as bytes are little-endian, after their length in bytes", () => {
  const writer = new AvroWriter();
  writer.begin(prefix);
  writer.writeBytes(Float32Array.of(0.5, -3, Number.NaN));
  writer.writeBytes(Float64Array.of(0.1, Number.POSITIVE_INFINITY));
  const bytes = writer.end().subarray(prefix.length);
  assert.deepEqual([bytes.length, bytes[0], bytes[13]], [1 + 12 + 1 + 16, 24, 32]);
  assert.deepEqual(
    [1, 5, 9].map((at) => bytes.readFloatLE(at)),
    [0.5, -3, Number.NaN],
  );
  assert.deepEqual(
    [14, 22].map((at) => bytes.readDoubleLE(at)),
    [0.1, Number.POSITIVE_INFINITY],
  );
});

test("bytes and typed arrays continue in a new slab when one is full", () => {
  const writer = new AvroWriter();
  const plain = Buffer.from([1, 2, 3]);
  const floats = Float32Array.from({ length: 1000 }, (_, i) => i);
  const doubles = Float64Array.from(floats);
  const values = Array.from({ length: 40 }, () => {
    writer.begin(prefix);
    writer.writeBytes(plain);
    writer.writeBytes(floats);
    writer.writeBytes(doubles);
    return writer.end();
  });
  // 3, 4,000 and 8,000 bytes: one byte of zigzag, then two bytes each.
  const lengths = [Buffer.from([6]), Buffer.from([0xc0, 0x3e]), Buffer.from([0x80, 0x7d])];
  const [asFloats, asDoubles] = [Buffer.from(floats.buffer), Buffer.from(doubles.buffer)];
  const whole = Buffer.concat([prefix, lengths[0], plain, lengths[1], asFloats, lengths[2], asDoubles]);
  for (const value of values) assert.ok(value.equals(whole));
});

test("an array of doubles has the same bytes as numbers and as a typed array", () => {
  const writer = new AvroWriter();
  for (const numbers of [[], [0.1, -2, Number.NaN, 7]]) {
    const [plain, typed] = [numbers, Float64Array.from(numbers)].map((values) => {
      writer.begin(prefix);
      writer.writeDoubles(values);
      return writer.end();
    });
    assert.deepEqual(typed, plain);
  }
});
