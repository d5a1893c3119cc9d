import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  brokers,
  type Format,
  freeText,
  integer,
  interval,
  listOf,
  number,
  oneOf,
  quantileLevels,
  record,
  topicName,
  url,
} from "../../../../src/runtime/config/formats.ts";

function patternOf(format: Format<unknown>): RegExp {
  return new RegExp(format.schema.pattern as string);
}

describe("a format as a JSON Schema", () => {
  test("describes the same values as the format", () => {
    assert.deepEqual(oneOf("a", "b").schema, { enum: ["a", "b"] });
    assert.deepEqual(integer(1, 9).schema, { type: "integer", minimum: 1, maximum: 9 });
    assert.deepEqual(number(0, 0.5).schema, { type: "number", minimum: 0, maximum: 0.5 });
    assert.deepEqual(listOf("numbers", integer(1, 9), 2).schema, {
      type: "array",
      items: { type: "integer", minimum: 1, maximum: 9 },
      minItems: 2,
    });
    assert.deepEqual(record<{ name: string }>("{ name }", { name: topicName }, "name", {}).schema, {
      type: "object",
      properties: { name: topicName.schema },
      required: ["name"],
      additionalProperties: false,
    });
    assert.deepEqual(quantileLevels.schema.items, {
      type: "number",
      exclusiveMinimum: 0,
      exclusiveMaximum: 1,
    });
    assert.equal((brokers.schema.items as { type: string }).type, "string");
  });

  const accepted: readonly (readonly [string, Format<unknown>, readonly string[], readonly string[]])[] = [
    ["topic names", topicName, ["sensors", "a.b-c_d"], ["", "a b", "x".repeat(250)]],
    ["intervals", interval, ["auto", "PT5M", "P1D", "P1DT12H"], ["5 minutes", "pt5m"]],
    ["addresses", url, ["", "https://registry:8081/apis"], ["registry", "https://user@host"]],
    ["text", freeText, ["x", "two words", "two\nlines"], ["", " x", "x".repeat(256)]],
  ];
  for (const [what, format, good, bad] of accepted) {
    test(`accepts ${what} that the format accepts, and refuses clearly invalid ones`, () => {
      for (const value of good) {
        assert.deepEqual(format.flaws(value), [], value);
        assert.match(value, patternOf(format));
      }
      for (const value of bad) assert.doesNotMatch(value, patternOf(format));
    });
  }

  test("uses no lookahead, which some regular expression engines lack", () => {
    for (const format of [topicName, interval]) assert.doesNotMatch(patternOf(format).source, /\(\?[=!]/);
  });
});
