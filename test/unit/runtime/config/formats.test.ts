import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  anyNumber,
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
  wordOr,
} from "../../../../src/runtime/config/formats.ts";

function patternOf(format: Format<unknown>): RegExp {
  return new RegExp(format.schema.pattern as string);
}

describe("a word or another value", () => {
  const format = wordOr(["auto", "none"], anyNumber);

  test("is read from text, and a word stays a word", () => {
    assert.deepEqual(
      [" auto ", "none", "-1.5e3", 7].map((given) => format.read(given)),
      ["auto", "none", -1500, 7],
    );
  });

  test("refuses other words and what is not a finite number, and says what is allowed", () => {
    for (const given of ["", "Auto", "NaN", Number.NaN, Number.POSITIVE_INFINITY, null, true]) {
      const [flaw] = format.flaws(format.read(given));
      assert.equal(flaw?.advice, "allowed: auto, none or number");
    }
  });

  test("describes both as a JSON Schema", () => {
    assert.deepEqual(format.schema, { anyOf: [{ enum: ["auto", "none"] }, { type: "number" }] });
  });
});

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
