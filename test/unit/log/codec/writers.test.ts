// The generated writers against avsc: the same bytes for any record of their schemas.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { renderWriters } from "../../../../scripts/schema-writers.ts";
import { avroCodec, singleObjectHeader } from "../../../../src/log/codec/avro.ts";
import type { AvroDefinition, AvroSchema } from "../../../../src/log/codec/avro-schema.ts";
import { AvroWriter } from "../../../../src/log/codec/avro-writer.ts";
import { type RecordName, schemaVersions } from "../../../../src/log/codec/schemas.generated.ts";
import * as writers from "../../../../src/log/codec/writers.generated.ts";
import { arbitraryOf } from "./schema-arbitrary.ts";

type Write = (writer: AvroWriter, record: unknown) => void;

describe("the generated writers", () => {
  for (const [name, write] of Object.entries(writers)) {
    test(`${name} writes the same bytes as avsc`, () => {
      const record = name.slice("write".length) as RecordName;
      const schema = schemaVersions[record].at(-1) as AvroSchema;
      const header = singleObjectHeader(schema);
      const codec = avroCodec(record);
      const writer = new AvroWriter();
      fc.assert(
        fc.property(arbitraryOf(schema), (value) => {
          writer.begin(header);
          (write as Write)(writer, value);
          assert.equal(writer.end().toString("hex"), codec.encode(value as never).toString("hex"));
        }),
      );
    });
  }

  test("there is a writer for each record of the hot path", () => {
    assert.deepEqual(Object.keys(writers).sort(), ["writeForecast", "writeKeptForecast", "writeLiveState"]);
  });
});

test("the generator refuses types that it has no writer for", () => {
  const recordWith = (type: AvroSchema): AvroDefinition => ({
    type: "record",
    name: "R",
    fields: [{ name: "x", type }],
  });
  const refused: readonly AvroSchema[] = [
    "boolean",
    "Unknown",
    ["int", "string"],
    ["null", "int", "string"],
    { type: "map", values: "int" },
    { type: "array", items: ["null", "int"] },
    { type: "array", items: { type: "array", items: "int" } },
  ];
  for (const type of refused)
    assert.throws(() => renderWriters([recordWith(type)]), /no writer can be made/, JSON.stringify(type));
});
