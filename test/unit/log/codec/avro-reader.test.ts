import assert from "node:assert/strict";
import { describe, test } from "node:test";
import avro from "avsc";
import fc from "fast-check";
import { compileBytesCheck, compileFieldReader } from "../../../../src/log/codec/avro-reader.ts";
import type { AvroSchema } from "../../../../src/log/codec/avro-schema.ts";
import { type RecordName, schemaVersions } from "../../../../src/log/codec/schemas.generated.ts";
import { arbitraryOf } from "./schema-arbitrary.ts";

function read(schema: AvroSchema, value: unknown, ...paths: string[]): readonly unknown[] {
  const bytes = avro.Type.forSchema(schema as avro.Schema).toBuffer(value);
  return compileFieldReader(schema, paths)(bytes, 0);
}

describe("the field reader", () => {
  test("agrees with avsc about where the values of all our records end", () => {
    for (const name of Object.keys(schemaVersions) as RecordName[]) {
      const schema = schemaVersions[name].at(-1) as AvroSchema;
      const type = avro.Type.forSchema(schema as avro.Schema);
      const check = compileBytesCheck(schema);
      const property = fc.property(arbitraryOf(schema), (value) => check(type.toBuffer(value), 0));
      fc.assert(property, { numRuns: 30 });
    }
  });

  test("follows paths through records, unions and references to named types", () => {
    const schema: AvroSchema = {
      type: "record",
      name: "Reading",
      namespace: "plant",
      fields: [
        {
          name: "first",
          type: { type: "record", name: "Sensor", fields: [{ name: "id", type: "string" }] },
        },
        { name: "second", type: ["null", "Sensor"] },
        { name: "third", type: "plant.Sensor" },
      ],
    };
    const value = { first: { id: "a" }, second: { id: "b" }, third: { id: "c" } };
    assert.deepEqual(read(schema, value, "second.id", "third.id", "first"), ["b", "c", undefined]);
    assert.deepEqual(read(schema, { ...value, second: null }, "second.id", "absent"), [undefined, undefined]);
  });

  test("reads every kind of number, and timestamps as dates", () => {
    const schema: AvroSchema = {
      type: "record",
      name: "R",
      fields: [
        { name: "int", type: "int" },
        { name: "float", type: "float" },
        { name: "long", type: "long" },
        { name: "millis", type: { type: "long", logicalType: "timestamp-millis" } },
        { name: "micros", type: ["null", { type: "long", logicalType: "timestamp-micros" }] },
        { name: "list", type: { type: "array", items: "float" } },
      ],
    };
    const value = { int: -5, float: 0.5, long: 2 ** 50, millis: 1500, micros: 1_500_999, list: [1, 2] };
    assert.deepEqual(read(schema, value, "int", "float", "long", "millis", "micros", "list"), [
      -5,
      0.5,
      2 ** 50,
      new Date(1500),
      new Date(1500),
      [1, 2],
    ]);
  });

  test("reads records with longs beyond 2^53 in other fields", () => {
    const schema: AvroSchema = {
      type: "record",
      name: "R",
      fields: [
        { name: "hash", type: "long" },
        { name: "id", type: "string" },
      ],
    };
    const largest = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]; // 2^63 - 1
    const bytes = Buffer.from([...largest, 2, 0x61]);
    assert.deepEqual(compileFieldReader(schema, ["id"])(bytes, 0), ["a"]);
    const endless = Buffer.from([...largest.slice(0, 9), 0xff, 0x01, 2, 0x61]);
    assert.throws(() => compileFieldReader(schema, ["id"])(endless, 0), /is too long/);
  });

  test("reads arrays in several blocks, with and without their sizes", () => {
    const schema: AvroSchema = {
      type: "record",
      name: "R",
      fields: [{ name: "list", type: { type: "array", items: "int" } }],
    };
    const reader = compileFieldReader(schema, ["list"]);
    assert.deepEqual(reader(Buffer.from([2, 2, 3, 4, 4, 6, 0]), 0), [[1, 2, 3]]); // 1 item; -2 items of 2 bytes
    assert.throws(() => reader(Buffer.from([3, 6, 4, 6, 0]), 0), /block of 3 bytes/);
  });

  test("reads no more items of an array than wanted, and skips the rest", () => {
    // Two items, then four with the size of their block.
    const bytes = Buffer.from([4, 2, 4, 7, 8, 6, 8, 10, 12, 0]);
    const read = compileFieldReader(
      { type: "record", name: "R", fields: [{ name: "items", type: { type: "array", items: "long" } }] },
      ["items"],
      3,
    );
    assert.deepEqual(read(bytes, 0), [[1, 2, 3]]);
    assert.throws(() => read(bytes.subarray(0, 9), 0), /bytes declared/);
  });

  test("is refused for an invalid schema", () => {
    for (const schema of [
      "what",
      { type: "record", name: "R" },
      { type: ["null"] },
      { type: "fixed" },
      {},
      null,
    ]) {
      assert.throws(() => compileFieldReader(schema as AvroSchema, ["a"]), JSON.stringify(schema));
    }
  });
});
