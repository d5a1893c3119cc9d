import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseIsoTime } from "../../../../src/log/codec/iso-time.ts";

test("every ISO string that JavaScript writes is read back", () => {
  const date = fc.date({ min: new Date("1900-01-01Z"), max: new Date("9999-12-31Z"), noInvalidDate: true });
  fc.assert(fc.property(date, (time) => parseIsoTime(time.toISOString()) === time.getTime()));
});

test("zones, short forms and fine fractions are understood; no zone is UTC", () => {
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

test("what is no date-time is not a number", () => {
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
