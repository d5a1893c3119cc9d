import assert from "node:assert/strict";
import { describe, test } from "node:test";
import avro from "avsc";
import fc from "fast-check";
import { avroCodec, crc64Avro, fingerprintOf, versionedCodec } from "../../../../src/log/codec/avro.ts";
import type { AvroSchema } from "../../../../src/log/codec/avro-schema.ts";
import { type RecordName, schemaVersions } from "../../../../src/log/codec/schemas.generated.ts";
import { ForecastnetError } from "../../../../src/runtime/errors.ts";
import { arbitraryOf, plain } from "./schema-arbitrary.ts";

const names = Object.keys(schemaVersions) as RecordName[];
const point: AvroSchema = { type: "record", name: "P", fields: [{ name: "x", type: "int" }] };

function corrupt(pattern: RegExp) {
  return (error: unknown) =>
    error instanceof ForecastnetError && error.code === "STATE_CORRUPT" && pattern.test(error.message);
}

describe("the Avro codec", () => {
  for (const name of names) {
    test(`${name} survives encoding and decoding`, () => {
      const codec = avroCodec(name);
      fc.assert(
        fc.property(arbitraryOf(schemaVersions[name].at(-1) as AvroSchema), (value) => {
          assert.deepEqual(plain(codec.decode(codec.encode(value as never))), value);
        }),
        { numRuns: 50 },
      );
    });

    test(`${name} that is truncated, extended or altered is quickly read or refused`, () => {
      const codec = avroCodec(name);
      const mutation = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 6 });
      fc.assert(
        fc.property(
          arbitraryOf(schemaVersions[name].at(-1) as AvroSchema),
          mutation,
          fc.nat(),
          (value, changes, cut) => {
            const bytes = codec.encode(value as never);
            assert.throws(
              () => codec.decode(bytes.subarray(0, cut % bytes.length)),
              corrupt(/cannot be read/),
            );
            assert.throws(
              () => codec.decode(Buffer.concat([bytes, Buffer.from([0])])),
              corrupt(/after the end/),
            );
            const body = bytes.length - 10;
            for (const [at, byte] of changes) bytes[10 + (at % body)] = byte;
            try {
              codec.decode(bytes);
            } catch (error) {
              assert.ok(corrupt(/cannot be read/)(error), String(error));
            }
          },
        ),
        { numRuns: 150 },
      );
    });
  }

  test("fingerprints are those of the specification", () => {
    assert.equal(crc64Avro('"null"'), 0x63dd24e7cc258f8an);
    assert.equal(crc64Avro('"int"'), 0x7275d51a3f395c8fn);
  });

  test("documentation, defaults and logical types do not change the fingerprint", () => {
    const long = { type: "record", name: "P", fields: [{ name: "x", type: "long" }] };
    const time: AvroSchema = {
      type: "record",
      name: "P",
      doc: "documented",
      fields: [
        { name: "x", type: { type: "long", logicalType: "timestamp-millis" }, default: 0, doc: "too" },
      ],
    };
    assert.equal(fingerprintOf(time), fingerprintOf(long));
  });

  test("a record starts with C3 01 and the fingerprint in little-endian order", () => {
    const bytes = versionedCodec("P", [point]).encode({ x: 1 });
    assert.equal(bytes.subarray(0, 2).toString("hex"), "c301");
    assert.equal(
      bytes.readBigUInt64LE(2),
      crc64Avro('{"name":"P","type":"record","fields":[{"name":"x","type":"int"}]}'),
    );
    assert.deepEqual([...bytes.subarray(10)], [2]);
  });

  test("an older version is read as the newest, and an unknown one is named", () => {
    const newer: AvroSchema = {
      ...(point as object),
      type: "record",
      fields: [
        { name: "x", type: "long" },
        { name: "y", type: "string", default: "none" },
      ],
    };
    const bytes = versionedCodec("P", [point]).encode({ x: 7 });
    assert.deepEqual(plain(versionedCodec("P", [point, newer]).decode(bytes)), { x: 7, y: "none" });
    const fingerprint = fingerprintOf(point).toString(16).padStart(16, "0");
    assert.throws(() => versionedCodec("P", [newer]).decode(bytes), corrupt(new RegExp(fingerprint)));
  });

  test("bytes that are not a single object are refused", () => {
    const codec = avroCodec("Observation");
    assert.throws(() => codec.decode(Buffer.from("not Avro at all")), corrupt(/C3 01/));
    assert.throws(() => codec.decode(Buffer.alloc(0)), corrupt(/C3 01/));
  });

  test("a value of the wrong type is refused with its path", () => {
    const value = { seriesId: "a", time: 1, value: [1, "2"], tags: {} };
    assert.throws(() => avroCodec("Observation").encode(value as never), /value\.1 is 2, expected "double"/);
  });

  test("records larger than the scratch buffer are written whole and share no memory", () => {
    const codec = avroCodec("ModelRecord");
    const value = fc.sample(arbitraryOf(schemaVersions.ModelRecord.at(-1) as AvroSchema), {
      numRuns: 1,
      seed: 1,
    })[0];
    const model = { ...(value as object), weights: Buffer.alloc(300_000, 7) };
    const bytes = codec.encode(model as never);
    const decoded = codec.decode(bytes);
    codec.encode({ ...model, weights: Buffer.alloc(300_000, 1) } as never);
    bytes.fill(0);
    assert.equal(decoded.weights.compare(Buffer.alloc(300_000, 7)), 0);
  });

  test("avsc itself reads what we write", () => {
    const type = avro.Type.forSchema(schemaVersions.Observation.at(-1) as avro.Schema);
    const value = { seriesId: "ä", time: 1_700_000_000_000, value: [1, 2.5], tags: { site: "north" } };
    const bytes = avroCodec("Observation").encode(value);
    assert.deepEqual(plain(type.fromBuffer(bytes.subarray(10))), value);
  });
});
