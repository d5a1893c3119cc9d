// The writer's slabs: what was handed out stays as it was, however much is written after it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { AvroWriter } from "../../../../src/log/codec/avro-writer.ts";

const prefix = Buffer.from("prefix");

function write(writer: AvroWriter, text: string): Buffer {
  writer.begin(prefix);
  writer.writeString(text);
  return writer.end();
}

/** A short text's length is one byte, zigzag. */
function expected(text: string): Buffer {
  return Buffer.concat([prefix, Buffer.from([2 * text.length]), Buffer.from(text)]);
}

test("a value stays as it was while many slabs are filled after it", () => {
  const writer = new AvroWriter();
  const texts = Array.from({ length: 20_000 }, (_, i) => `value ${i}`);
  const written = texts.map((text) => write(writer, text));
  for (const [i, text] of texts.entries()) assert.deepEqual(written[i], expected(text));
});

test("a value larger than a slab is written whole, and so is the one after it", () => {
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

test("a value that could not be finished leaves the next one whole", () => {
  const writer = new AvroWriter();
  writer.begin(prefix);
  assert.throws(() => writer.writeLong(0.5), TypeError);
  assert.deepEqual(write(writer, "next"), expected("next"));
});

test("numbers as bytes are little-endian, behind their length in bytes", () => {
  const writer = new AvroWriter();
  writer.begin(prefix);
  writer.writeFloatsAsBytes(Float32Array.of(0.5, -3, Number.NaN));
  writer.writeDoublesAsBytes(Float64Array.of(0.1, Number.POSITIVE_INFINITY));
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

test("what is encoded already, and numbers as bytes, go on in a fresh slab when one is full", () => {
  const writer = new AvroWriter();
  const encoded = Buffer.from([1, 2, 3]);
  const floats = Float32Array.from({ length: 1000 }, (_, i) => i);
  const doubles = Float64Array.from(floats);
  const values = Array.from({ length: 40 }, () => {
    writer.begin(prefix);
    writer.writeEncoded(encoded);
    writer.writeFloatsAsBytes(floats);
    writer.writeDoublesAsBytes(doubles);
    return writer.end();
  });
  // 4,000 and 8,000 bytes: two bytes of zigzag each.
  const lengths = [Buffer.from([0xc0, 0x3e]), Buffer.from([0x80, 0x7d])];
  const [asFloats, asDoubles] = [Buffer.from(floats.buffer), Buffer.from(doubles.buffer)];
  const whole = Buffer.concat([prefix, encoded, lengths[0], asFloats, lengths[1], asDoubles]);
  for (const value of values) assert.ok(value.equals(whole));
});
