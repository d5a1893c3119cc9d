import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { defaultFields, type ObservationFields } from "../../../../src/log/codec/observation-codec.ts";
import { createObservationCodec } from "../../../../src/log/codec/observation-codecs.ts";
import { createObservationWriter } from "../../../../src/log/codec/observation-writer.ts";

const limits = { maxRecordBytes: 10_000, maxIdLength: 256 };
const nested = { seriesId: "sensor.id", time: "sensor.at", value: "reading", timeUnit: "ms" } as const;
const shapes: readonly ObservationFields[] = [
  defaultFields,
  nested,
  { ...nested, timeUnit: "iso" },
  { ...nested, timeUnit: "s" },
  { ...nested, timeUnit: "us" },
  { ...nested, seriesId: "$key" },
];

describe("what is written is read back as it was", () => {
  for (const format of ["avro", "json"] as const) {
    for (const fields of format === "avro" ? [defaultFields] : shapes) {
      test(`as ${format}, id at ${fields.seriesId}, time in ${fields.timeUnit}`, () => {
        const write = createObservationWriter(format, fields);
        const codec = createObservationCodec({ format, fields, limits, registry: null });
        const observations = fc.record({
          seriesId: fc.string({ minLength: 1, maxLength: 20, unit: "grapheme-ascii" }),
          timeMs: fc.integer({ min: 0, max: 4_000_000_000_000 }),
          values: fc.array(fc.double({ min: -1e9, max: 1e9, noNaN: true }), {
            minLength: 1,
            maxLength: 3,
          }),
        });
        fc.assert(
          fc.property(observations, ({ seriesId, timeMs, values }) => {
            const written = { seriesId, timeMs, values: values.map((value) => value + 0) };
            const record = { key: Buffer.from(seriesId), value: write(written) };
            assert.deepEqual(codec.decode(record), written);
          }),
        );
      });
    }
  }
});

test("a format whose schema is somebody else's is refused, with what to do", () => {
  assert.throws(() => createObservationWriter("confluent", defaultFields), {
    code: "CONFIG_INVALID",
    message: /name an input topic in avro or json$/,
  });
});
