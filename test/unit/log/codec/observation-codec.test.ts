import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { DeadLetterReason } from "../../../../src/domain.ts";
import { avroCodec } from "../../../../src/log/codec/avro.ts";
import {
  createObservationCodec,
  DecodeFailure,
  defaultFields,
  type ObservationCodec,
  type ObservationFields,
  parseIsoTime,
} from "../../../../src/log/codec/observation-codec.ts";
import type { ObservationRecord } from "../../../../src/log/codec/schemas.generated.ts";

const observations = avroCodec("Observation");
const limits = { maxRecordBytes: 1000, maxIdLength: 20, maxChannels: 8 };
const timeMs = Date.UTC(2024, 0, 1);
const good: ObservationRecord = { seriesId: "a", time: timeMs, value: 1.5, tags: {} };

const avro = createObservationCodec({ format: "avro", fields: defaultFields, limits, registry: null });

function json(fields: Partial<ObservationFields> = {}): ObservationCodec {
  return createObservationCodec({
    format: "json",
    fields: { ...defaultFields, ...fields },
    limits,
    registry: null,
  });
}

function decodeJson(body: unknown, fields: Partial<ObservationFields> = {}, key: Buffer | null = null) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return json(fields).decode({ key, value: Buffer.from(text) });
}

function decodeAvro(record: Partial<ObservationRecord>) {
  const value = observations.encode({ ...good, ...record });
  return avro.decode({ key: null, value });
}

function assertFails(result: unknown, reason: DeadLetterReason, detail: RegExp) {
  assert.ok(result instanceof DecodeFailure, JSON.stringify(result));
  assert.equal(result.reason, reason);
  assert.match(result.detail, detail);
}

describe("plain Avro", () => {
  test("is read bare and as a single object, with one channel or many", () => {
    const single = observations.encode({ ...good, tags: { site: "north" } });
    const expected = { seriesId: "a", timeMs, values: [1.5] };
    assert.deepEqual(avro.decode({ key: null, value: single }), expected);
    assert.deepEqual(avro.decode({ key: null, value: single.subarray(10) }), expected);
    assert.deepEqual(decodeAvro({ value: [1, -2, 3e90] }), {
      seriesId: "a",
      timeMs,
      values: [1, -2, 3e90],
    });
  });

  test("needs no preparation", () => {
    assert.equal(avro.prepare([{ key: null, value: Buffer.from([0, 0, 0, 0, 1]) }]), undefined);
  });

  test("with an unknown fingerprint has an unknown schema", () => {
    const value = observations.encode(good);
    value.fill(0xab, 2, 10);
    assertFails(avro.decode({ key: null, value }), "unknown-schema", /abababababababab/);
  });

  test("that is truncated, or has bytes after its end, is undecodable", () => {
    const value = observations.encode(good);
    assertFails(avro.decode({ key: null, value: value.subarray(0, -3) }), "undecodable", /left/);
    const longer = Buffer.concat([value, Buffer.from([1])]);
    assertFails(avro.decode({ key: null, value: longer }), "undecodable", /1 bytes after the end/);
  });

  test("that declares a billion channels is refused at once", () => {
    const count = Buffer.from([0x80, 0xa8, 0xd6, 0xb9, 0x07]); // one thousand million
    const head = observations.encode(good).subarray(10, 18); // series id and time
    const value = Buffer.concat([head, Buffer.from([2]), count]);
    assertFails(avro.decode({ key: null, value }), "undecodable", /1000000000 items declared/);
  });

  test("with bad contents is refused with the reason", () => {
    assertFails(decodeAvro({ seriesId: "" }), "missing-series", /""/);
    assertFails(decodeAvro({ seriesId: "a\u0000order" }), "bad-series-id", /holds a control character/);
    assertFails(
      decodeAvro({ seriesId: "x".repeat(21) }),
      "series-id-too-long",
      /21 characters, allowed are 20/,
    );
    assertFails(decodeAvro({ value: Number.NaN }), "bad-value", /NaN/);
    assertFails(decodeAvro({ value: [1, Number.POSITIVE_INFINITY] }), "bad-value", /finite/);
    assertFails(decodeAvro({ value: [] }), "bad-value", /\[\]/);
    assertFails(decodeAvro({ time: Date.UTC(1900, 0, 1) - 1 }), "bad-time", /1899/);
    assertFails(decodeAvro({ time: Date.UTC(10000, 0, 1) }), "bad-time", /1900 to 9999/);
    assertFails(decodeAvro({ tags: { long: "x".repeat(1000) } }), "oversized", /allowed are 1000/);
  });

  test("whose series id is not UTF-8 is undecodable", () => {
    const value = Buffer.from(observations.encode(good));
    value[11] = 0xff; // the one character of the id
    assertFails(avro.decode({ key: null, value }), "undecodable", /not UTF-8/);
    const replacement = decodeAvro({ seriesId: "\ufffd" });
    assert.ok(!(replacement instanceof DecodeFailure), "the character U+FFFD itself is legal");
  });

  test("without a value is undecodable", () => {
    assertFails(avro.decode({ key: Buffer.from("a"), value: null }), "undecodable", /no value/);
    assertFails(avro.decode({ key: null, value: Buffer.alloc(0) }), "undecodable", /0 left/);
  });
});

describe("JSON", () => {
  test("is read with the configured paths", () => {
    const body = { payload: { sensor: { id: "a" } }, at: timeMs, readings: [1, 2] };
    const fields = { seriesId: "payload.sensor.id", time: "at", value: "readings" };
    assert.deepEqual(decodeJson(body, fields), { seriesId: "a", timeMs, values: [1, 2] });
  });

  test("may have its time in milliseconds, in another configured unit, or as ISO 8601", () => {
    const expected = { seriesId: "a", timeMs: timeMs + 250, values: [1.5] };
    assert.deepEqual(decodeJson({ ...good, time: timeMs + 250 }), expected);
    assert.deepEqual(decodeJson({ ...good, time: timeMs / 1000 + 0.25 }, { timeUnit: "s" }), expected);
    assert.deepEqual(
      decodeJson({ ...good, time: (timeMs + 250) * 1000 + 999 }, { timeUnit: "us" }),
      expected,
    );
    for (const timeUnit of ["ms", "s", "us", "iso"] as const) {
      assert.deepEqual(
        decodeJson({ ...good, time: "2024-01-01T01:00:00.250+01:00" }, { timeUnit }),
        expected,
      );
    }
    assertFails(
      decodeJson(good, { timeUnit: "iso" }),
      "bad-time",
      /expected years 1900 to 9999, as ISO 8601 text/,
    );
  });

  test("may have the series id in the key of the record", () => {
    const body = { time: timeMs, value: 1 };
    const fields = { seriesId: "$key" };
    assert.deepEqual(decodeJson(body, fields, Buffer.from("ä")), { seriesId: "ä", timeMs, values: [1] });
    assertFails(decodeJson(body, fields, null), "missing-series", /absent/);
    assertFails(decodeJson(body, fields, Buffer.from([0xff])), "missing-series", /absent/);
  });

  test("with bad contents is refused with the reason", () => {
    assertFails(decodeJson("{"), "undecodable", /not JSON/);
    assertFails(json().decode({ key: null, value: Buffer.from([0x22, 0xff, 0x22]) }), "undecodable", /UTF-8/);
    assertFails(decodeJson("null"), "missing-series", /absent/);
    assertFails(decodeJson("[1]"), "missing-series", /absent/);
    assertFails(decodeJson({ ...good, seriesId: 7 }), "missing-series", /7, expected text/);
    assertFails(decodeJson({ ...good, time: timeMs + 0.5 }), "bad-time", /whole milliseconds/);
    assertFails(decodeJson({ ...good, time: "yesterday" }), "bad-time", /"yesterday"/);
    assertFails(decodeJson({ ...good, time: null }), "bad-time", /null/);
    assertFails(decodeJson({ ...good, time: String(timeMs) }), "bad-time", /ISO 8601/);
    assertFails(decodeJson({ ...good, value: "1.5" }), "bad-value", /"1.5"/);
    assertFails(decodeJson({ ...good, value: [1, "2"] }), "bad-value", /\[1,"2"\]/);
    assertFails(decodeJson({ ...good, value: true }), "bad-value", /true/);
    assertFails(decodeJson(`{"seriesId":"a","time":${timeMs},"value":1e999}`), "bad-value", /Infinity/);
    assertFails(decodeJson({ ...good, value: undefined }), "bad-value", /absent/);
    assertFails(decodeJson({ ...good, note: "x".repeat(1000) }), "oversized", /allowed are 1000/);
  });

  test("does not find fields that objects inherit", () => {
    assertFails(decodeJson(good, { seriesId: "constructor.name" }), "missing-series", /absent/);
  });

  test("nested deeper than the stack is refused like any other value", () => {
    const nested = `${"[".repeat(200)}1${"]".repeat(200)}`;
    const body = (field: string) => `{"seriesId":"a","time":${timeMs},"value":1,"${field}":${nested}}`;
    assertFails(decodeJson(body("seriesId")), "missing-series", /\[\[…\]\]/);
    assertFails(decodeJson(body("value")), "bad-value", /\[\[…\]\]/);
    const deep = `{"value":${"[".repeat(100_000)}${"]".repeat(100_000)},"seriesId":"a","time":${timeMs}}`;
    const roomy = createObservationCodec({
      ...{ format: "json", fields: defaultFields, registry: null },
      limits: { ...limits, maxRecordBytes: 1e6 },
    });
    assertFails(roomy.decode({ key: null, value: Buffer.from(deep) }), "bad-value", /\[\[…\]\]/);
  });

  test("details quote only the start of a value", () => {
    const result = decodeJson({ ...good, value: "x".repeat(500) });
    assert.ok(result instanceof DecodeFailure && result.detail.length < 200);
  });
});

describe("in every format", () => {
  test("a series id may be any text without control characters and lone surrogates", () => {
    for (const seriesId of ["Kühlraum 7", "泵/3", "🚀", "a#0", "__proto__"]) {
      const read = decodeJson({ ...good, seriesId });
      assert.ok(!(read instanceof DecodeFailure), seriesId);
      assert.equal(read.seriesId, seriesId);
    }
    for (const seriesId of ["a\u0000b", "a\nb", "\u007f", "\u0085", "\ud83d", "\ude80a"]) {
      assertFails(decodeJson({ ...good, seriesId }), "bad-series-id", /control character or half/);
    }
  });

  test("an observation with more channels than allowed is refused, and one with as many is read", () => {
    const channels = (count: number) => new Array<number>(count).fill(1);
    assertFails(decodeJson({ ...good, value: channels(9) }), "too-many-channels", /the 8 channels/);
    assertFails(decodeAvro({ value: channels(9) }), "too-many-channels", /limits\.channels/);
    for (const read of [decodeJson({ ...good, value: channels(8) }), decodeAvro({ value: channels(8) })]) {
      assert.ok(!(read instanceof DecodeFailure));
      assert.equal(read.values.length, 8);
    }
  });
});

test("the Confluent format without a registry is a configuration error", () => {
  assert.throws(
    () => createObservationCodec({ format: "confluent", fields: defaultFields, limits, registry: null }),
    /registry\.url/,
  );
});

test("every ISO string that JavaScript writes is read back", () => {
  const date = fc.date({ min: new Date("1900-01-01Z"), max: new Date("9999-12-31Z"), noInvalidDate: true });
  fc.assert(fc.property(date, (time) => parseIsoTime(time.toISOString()) === time.getTime()));
});

test("zones, short forms and fine fractions are read, and a time without a zone is UTC", () => {
  const expected = Date.UTC(2024, 1, 29, 12, 30);
  for (const text of [
    "2024-02-29T12:30Z",
    "2024-02-29T12:30:00",
    "2024-02-29 12:30:00.000999",
    "2024-02-29T14:30:00+02:00",
    "2024-02-29T14:30:00+0200",
    "2024-02-29T07:00:00,0-05:30",
    "2024-02-29T13:30+01",
  ]) {
    assert.equal(parseIsoTime(text), expected, text);
  }
  assert.equal(parseIsoTime("2024-02-29"), Date.UTC(2024, 1, 29));
});

test("text that is not a date-time gives NaN", () => {
  for (const text of [
    "",
    "now",
    "2024",
    "2023-02-29",
    "2024-13-01",
    "2024-00-10",
    "2024-01-01T24:00Z",
    "2024-01-01T10:60Z",
    "2024-01-01T10:00:60Z",
    "2024-01-01T10:00+25:00",
    "2024-01-01T10:00Z ",
    "1704067200000",
  ]) {
    assert.equal(parseIsoTime(text), Number.NaN, text);
  }
});
