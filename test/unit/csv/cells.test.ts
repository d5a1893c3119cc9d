// What a cell says: numbers and times that have one meaning, missing values, and what is refused.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readNumber, readTime } from "../../../src/csv/cells.ts";

describe("a number", () => {
  const numbers: readonly (readonly [string, boolean, number | null])[] = [
    ["12", false, 12],
    ["-0.5", false, -0.5],
    ["+.5", false, 0.5],
    ["1e3", false, 1000],
    ["1,5", true, 1.5],
    ["1.5", true, 1.5],
    ["1,5", false, null],
    ["1.234,5", true, null],
    ["1 000", false, null],
    ["0x10", false, null],
    ["1e999", false, null],
    ["Infinity", false, null],
    ["12 kWh", false, null],
  ];
  for (const [cell, hasDecimalComma, expected] of numbers) {
    test(`"${cell}" ${hasDecimalComma ? "where commas are decimal" : ""} is ${expected ?? "refused"}`, () => {
      assert.equal(readNumber(cell, hasDecimalComma), expected);
    });
  }

  test("is missing in an empty cell, and in one that says so", () => {
    for (const cell of ["", "NA", "n/a", "NaN", "null", "-", "?"])
      assert.ok(Number.isNaN(readNumber(cell, false)), cell);
  });
});

describe("a time", () => {
  const times: readonly (readonly [string, string | null])[] = [
    ["2024-01-31", "2024-01-31T00:00:00.000Z"],
    ["2024-01-31 13:05", "2024-01-31T13:05:00.000Z"],
    ["2024-01-31T13:05:07.250Z", "2024-01-31T13:05:07.250Z"],
    ["2024-01-31T13:05:00+02:00", "2024-01-31T11:05:00.000Z"],
    ["2024-01-31T13:05:00-0530", "2024-01-31T18:35:00.000Z"],
    ["2024/1/5 3:00", "2024-01-05T03:00:00.000Z"],
    ["2024-02", "2024-02-01T00:00:00.000Z"],
    ["1987", "1987-01-01T00:00:00.000Z"],
    ["31.01.2024 13:05", "2024-01-31T13:05:00.000Z"],
    ["1706706300", "2024-01-31T13:05:00.000Z"],
    ["1706706300.5", "2024-01-31T13:05:00.500Z"],
    ["1706706300500", "2024-01-31T13:05:00.500Z"],
    ["1706706300500000", "2024-01-31T13:05:00.500Z"],
    ["1706706300500000000", "2024-01-31T13:05:00.500Z"],
    ["2024-02-30", null],
    ["2024-01-31 25:00", null],
    ["01/31/2024", null],
    ["yesterday", null],
    ["12", null],
    ["", null],
  ];
  for (const [cell, expected] of times) {
    test(`"${cell}" is ${expected ?? "refused"}`, () => {
      const ms = readTime(cell);
      assert.equal(ms === null ? null : new Date(ms).toISOString(), expected);
    });
  }
});
