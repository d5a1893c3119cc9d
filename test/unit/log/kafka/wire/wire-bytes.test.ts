import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { WireReader, WireWriter } from "../../../../../src/log/kafka/wire/wire-bytes.ts";

describe("the primitive types of the protocol", () => {
  test("are big-endian with a length prefix", () => {
    const writer = new WireWriter();
    writer
      .int8(-1)
      .int16(-2)
      .int32(3)
      .int64(-4)
      .string("é")
      .string(null)
      .blob(Buffer.from([9]));
    writer.array([1, 2], (item) => writer.int8(item));
    assert.equal(
      writer.bytes.toString("hex"),
      ["ff", "fffe", "00000003", "fffffffffffffffc", "0002c3a9", "ffff", "0000000109", "000000020102"].join(
        "",
      ),
    );
  });

  test("are read as they were written, whatever their size", () => {
    const item = fc.record({
      small: fc.integer({ min: -(2 ** 15), max: 2 ** 15 - 1 }),
      medium: fc.integer(),
      large: fc.maxSafeInteger(),
      text: fc.option(fc.string({ unit: "binary", maxLength: 3_000 })),
      bytes: fc.uint8Array({ maxLength: 5_000 }),
    });
    fc.assert(
      fc.property(fc.array(item), (items) => {
        const writer = new WireWriter();
        writer.array(items, ({ small, medium, large, text, bytes }) =>
          writer.int16(small).int32(medium).int64(large).string(text).blob(Buffer.from(bytes)),
        );
        const reader = new WireReader(writer.bytes);
        const read = reader.array(() => ({
          ...{ small: reader.int16(), medium: reader.int32(), large: reader.int64(), text: reader.string() },
          bytes: new Uint8Array(reader.blob()),
        }));
        assert.deepEqual(
          read,
          items.map((one) => ({ ...one, bytes: new Uint8Array(one.bytes) })),
        );
      }),
    );
  });

  test("a null blob is read as an empty one, and a null array as none", () => {
    const bytes = new WireWriter().int32(-1).int32(-1).bytes;
    const reader = new WireReader(bytes);
    assert.equal(reader.blob().length, 0);
    assert.deepEqual(
      reader.array(() => 1),
      [],
    );
  });
});

test("values of any length keep their order, whichever of them are passed on uncopied", () => {
  const piece = fc.oneof(
    fc.nat(700).map((length) => Buffer.alloc(length, "a")),
    fc.integer({ min: 4_000, max: 9_000 }).map((length) => Buffer.alloc(length, "b")),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const writer = new WireWriter();
      for (const [i, bytes] of pieces.entries())
        writer
          .int32(i)
          .string("x".repeat(bytes.length % 300))
          .raw(bytes);
      const reader = new WireReader(writer.bytes);
      for (const [i, bytes] of pieces.entries()) {
        assert.equal(reader.int32(), i);
        assert.equal(reader.string(), "x".repeat(bytes.length % 300));
        assert.ok(reader.raw(bytes.length).equals(bytes), `piece ${i} of ${bytes.length} bytes`);
      }
    }),
  );
});
