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
