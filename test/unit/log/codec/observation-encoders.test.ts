// The codec with the same settings reads what the encoder of a topic writes.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  createObservationCodec,
  defaultFields,
  keyAsSeriesId,
  type ObservationFields,
  type ObservationFormat,
} from "../../../../src/log/codec/observation-codec.ts";
import { createObservationEncoder } from "../../../../src/log/codec/observation-encoders.ts";

const measured = { seriesId: "pump-7", timeMs: Date.UTC(2026, 0, 5, 10, 15), value: 3.42 };
const limits = { maxRecordBytes: 1024, maxIdLength: 256, maxChannels: 8 };

async function roundTrip(format: ObservationFormat, fields: ObservationFields): Promise<unknown> {
  const encode = await createObservationEncoder({ topic: "sensors", format, fields, registry: null });
  const codec = createObservationCodec({ format, fields, limits, registry: null });
  return codec.decode({ key: Buffer.from(measured.seriesId), value: encode(measured) });
}

const expected = { seriesId: measured.seriesId, timeMs: measured.timeMs, values: [measured.value] };

describe("an observation that is written", () => {
  test("as avro can be read", async () => {
    assert.deepEqual(await roundTrip("avro", defaultFields), expected);
  });

  for (const timeUnit of ["ms", "s", "us", "iso"] as const) {
    test(`as json with times in ${timeUnit} can be read`, async () => {
      assert.deepEqual(await roundTrip("json", { ...defaultFields, timeUnit }), expected);
    });
  }

  test("as json with nested fields can be read", async () => {
    const fields = { seriesId: "meter.id", time: "meter.read.at", value: "kwh", timeUnit: "iso" } as const;
    assert.deepEqual(await roundTrip("json", fields), expected);
  });

  test("as json with its id in the key can be read", async () => {
    assert.deepEqual(await roundTrip("json", { ...defaultFields, seriesId: keyAsSeriesId }), expected);
  });

  test("in the confluent format has our own fields, or is refused with the reason", async () => {
    const fields = { ...defaultFields, value: "kwh" };
    const settings = { topic: "sensors", format: "confluent" as const, fields, registry: null };
    await assert.rejects(createObservationEncoder(settings), /only with the fields seriesId, time and value/);
  });
});
