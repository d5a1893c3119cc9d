import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import avro from "avsc";
import fc from "fast-check";
import type { AvroSchema } from "../../../../src/log/codec/avro-schema.ts";
import {
  createObservationCodec,
  DecodeFailure,
  defaultFields,
  type ObservationFields,
} from "../../../../src/log/codec/observation-codec.ts";
import { notFound, registryAt, startRegistryStub } from "./registry-stub.ts";

const schema: AvroSchema = {
  type: "record",
  name: "Reading",
  fields: [
    { name: "sensor", type: { type: "record", name: "Sensor", fields: [{ name: "id", type: "string" }] } },
    { name: "at", type: { type: "long", logicalType: "timestamp-micros" } },
    { name: "celsius", type: ["null", "float"] },
  ],
};
const fields = { ...defaultFields, seriesId: "sensor.id", time: "at", value: "celsius" };
const reading = { sensor: { id: "a" }, at: 1_700_000_000_000_000, celsius: 21.5 };
const expected = { seriesId: "a", timeMs: 1_700_000_000_000, values: [21.5] };

function framed(id: number, value: unknown): Buffer {
  const header = Buffer.alloc(5);
  header.writeInt32BE(id, 1);
  return Buffer.concat([header, avro.Type.forSchema(schema as avro.Schema).toBuffer(value)]);
}

/** A codec whose registry knows schema 7 and an invalid schema 8. */
async function startCodec(context: TestContext, overrides: Partial<ObservationFields> = {}) {
  const stub = await startRegistryStub(context);
  stub.answerWith((line) => {
    if (line.endsWith("/7")) return { status: 200, body: { schema: JSON.stringify(schema) } };
    if (line.endsWith("/8")) return { status: 200, body: { schema: '{"type":"what"}' } };
    return notFound;
  });
  const codec = createObservationCodec({
    format: "confluent",
    fields: { ...fields, ...overrides },
    limits: { maxRecordBytes: 1000, maxIdLength: 20, maxChannels: 8 },
    registry: registryAt(context, stub),
  });
  const decode = async (value: Buffer | null, key: Buffer | null = null) => {
    await codec.prepare([{ key, value }]);
    return codec.decode({ key, value });
  };
  return { stub, codec, decode };
}

describe("Confluent-framed Avro", () => {
  test("is read with the registry's schema and the configured paths", async (context) => {
    const { stub, codec } = await startCodec(context);
    const records = [reading, { ...reading, celsius: -1 }].map((value) => ({
      key: null,
      value: framed(7, value),
    }));
    await codec.prepare(records);
    assert.deepEqual(records.map(codec.decode), [expected, { ...expected, values: [-1] }]);
    assert.equal(codec.prepare(records), undefined, "the second batch waits for nothing");
    assert.equal(stub.requests.length, 1);
  });

  test("reads a plain long in the configured unit, but a timestamp in its own", async (context) => {
    const { decode } = await startCodec(context, { timeUnit: "s" });
    assert.deepEqual(await decode(framed(7, reading)), expected);
  });

  test("may have the series id in the key of the record", async (context) => {
    const { decode } = await startCodec(context, { seriesId: "$key" });
    assert.deepEqual(await decode(framed(7, reading), Buffer.from("k")), { ...expected, seriesId: "k" });
  });

  test("is refused with the reason", async (context) => {
    const { decode } = await startCodec(context);
    const cases = [
      [framed(9, reading), "unknown-schema", /knows no schema 9/],
      [framed(8, reading), "unknown-schema", /schema 8 is unsound/],
      [framed(7, { ...reading, celsius: null }), "bad-value", /null/],
      [framed(7, { ...reading, sensor: { id: "" } }), "missing-series", /""/],
      [Buffer.concat([framed(7, reading), Buffer.alloc(2)]), "undecodable", /2 bytes after/],
      [framed(7, reading).subarray(5), "undecodable", /start with 0/],
      [Buffer.from([0, 0, 0]), "undecodable", /start with 0/],
      [framed(-1, reading), "undecodable", /start with 0/],
      [null, "undecodable", /no value/],
      [Buffer.alloc(1001), "oversized", /1001 bytes/],
    ] as const;
    for (const [value, reason, detail] of cases) {
      const result = await decode(value);
      assert.ok(result instanceof DecodeFailure, JSON.stringify(result));
      assert.equal(result.reason, reason);
      assert.match(result.detail, detail);
    }
  });

  test("that is altered at random is read or refused", async (context) => {
    const { codec } = await startCodec(context);
    await codec.prepare([{ key: null, value: framed(7, reading) }]);
    const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(changes, fc.nat(), (mutations, cut) => {
        const value = framed(7, reading);
        for (const [at, byte] of mutations) value[5 + (at % (value.length - 5))] = byte;
        codec.decode({ key: null, value });
        codec.decode({ key: null, value: value.subarray(0, 5 + (cut % (value.length - 5))) });
      }),
      { numRuns: 1000 },
    );
  });
});
