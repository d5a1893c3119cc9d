// A decoder quickly reads or refuses any bytes, and every observation that it returns is valid.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { avroCodec } from "../../../../src/log/codec/avro.ts";
import { compileFieldReader, MalformedBytes } from "../../../../src/log/codec/avro-reader.ts";
import type { AvroSchema } from "../../../../src/log/codec/avro-schema.ts";
import {
  createObservationCodec,
  DecodeFailure,
  defaultFields,
  type ObservationCodec,
} from "../../../../src/log/codec/observation-codec.ts";
import { type ObservationRecord, schemaVersions } from "../../../../src/log/codec/schemas.generated.ts";
import { arbitraryOf } from "./schema-arbitrary.ts";

const observations = avroCodec("Observation");
const limits = { maxRecordBytes: 4096, maxIdLength: 50, maxChannels: 8 };
const observation = arbitraryOf(schemaVersions.Observation.at(-1) as AvroSchema);
const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 8 });

function codecOf(format: "avro" | "json"): ObservationCodec {
  return createObservationCodec({ format, fields: defaultFields, limits, registry: null });
}

function assertAnswers(codec: ObservationCodec, value: Buffer) {
  const result = codec.decode({ key: null, value });
  if (result instanceof DecodeFailure) {
    assert.ok(result.detail.length > 0);
    return;
  }
  assert.ok(result.seriesId.length > 0 && result.seriesId.length <= limits.maxIdLength);
  assert.ok(Number.isSafeInteger(result.timeMs));
  assert.ok(result.values.length > 0 && result.values.every(Number.isFinite));
}

describe("observation decoders", () => {
  for (const format of ["avro", "json"] as const) {
    const codec = codecOf(format);
    const encode = (value: unknown) =>
      format === "avro"
        ? observations.encode(value as ObservationRecord)
        : Buffer.from(JSON.stringify(value));

    test(`${format}: random bytes are read or refused`, () => {
      const bytes = fc.uint8Array({ maxLength: 200 });
      fc.assert(
        fc.property(bytes, (value) => assertAnswers(codec, Buffer.from(value))),
        { numRuns: 5000 },
      );
    });

    test(`${format}: altered and truncated records are read or refused`, () => {
      fc.assert(
        fc.property(observation, changes, fc.nat(), (value, mutations, cut) => {
          const bytes = encode(value);
          for (const [at, byte] of mutations) bytes[at % bytes.length] = byte;
          assertAnswers(codec, bytes);
          assertAnswers(codec, bytes.subarray(0, cut % bytes.length));
        }),
        { numRuns: 3000 },
      );
    });
  }

  test("JSON nested a thousand levels deep is read or refused", () => {
    assertAnswers(codecOf("json"), Buffer.from(`${"[".repeat(2000)}${"]".repeat(2000)}`));
  });

  test("bytes for a schema with every type, including itself, are read or refused", () => {
    const schema: AvroSchema = {
      type: "record",
      name: "Node",
      fields: [
        { name: "seriesId", type: ["null", "string"] },
        { name: "nothing", type: { type: "array", items: "null" } },
        { name: "empty", type: { type: "array", items: { type: "record", name: "Empty", fields: [] } } },
        { name: "map", type: { type: "map", values: { type: "array", items: "long" } } },
        { name: "fixed", type: { type: "fixed", name: "F", size: 3 } },
        { name: "kind", type: { type: "enum", name: "E", symbols: ["A", "B"] } },
        { name: "value", type: { type: "array", items: ["null", "double", "float"] } },
        { name: "children", type: { type: "array", items: "Node" } },
        { name: "time", type: { type: "long", logicalType: "timestamp-micros" } },
      ],
    };
    const read = compileFieldReader(schema, ["seriesId", "time", "value", "nothing"]);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60, max: 12 }), (bytes) => {
        try {
          assert.equal(read(Buffer.from(bytes), 0).length, 4);
        } catch (error) {
          assert.ok(error instanceof MalformedBytes, String(error));
        }
      }),
      { numRuns: 5000 },
    );
  });
});
