import assert from "node:assert/strict";
import { test } from "node:test";
import { cronProblem, nextRunMs } from "../../../src/runtime/cron.ts";

const at = (text: string) => Date.parse(text);
const next = (expression: string, after: string) => {
  const ms = nextRunMs(expression, at(after));
  return ms === null ? null : new Date(ms).toISOString();
};

test("a time is the first after the one given, never the one given", () => {
  assert.equal(next("*/5 * * * *", "2024-01-01T00:04:59.999Z"), "2024-01-01T00:05:00.000Z");
  assert.equal(next("*/5 * * * *", "2024-01-01T00:05:00.000Z"), "2024-01-01T00:10:00.000Z");
});

test("a sixth field, the first, holds seconds", () => {
  assert.equal(next("*/10 * * * * *", "2024-01-01T00:00:03Z"), "2024-01-01T00:00:10.000Z");
});

test("times are UTC, whatever the machine's zone and its changes of the hour", () => {
  for (const [after, expected] of [
    ["2024-03-30T12:00:00Z", "2024-03-31T02:30:00.000Z"],
    ["2024-10-26T12:00:00Z", "2024-10-27T02:30:00.000Z"],
  ]) {
    assert.equal(next("30 2 * * *", after), expected);
  }
});

test("a day that comes once in four years is found; one that never comes is none", () => {
  assert.equal(next("0 0 29 2 *", "2024-03-01T00:00:00Z"), "2028-02-29T00:00:00.000Z");
  assert.equal(next("0 0 30 2 *", "2024-01-01T00:00:00Z"), null);
  assert.equal(next("2020-01-01T00:00:00", "2024-01-01T00:00:00Z"), null);
});

test("what cannot be read is explained, and what can is not", () => {
  for (const expression of ["*/5 * * * *", "*/10 * * * * *", "@hourly"]) {
    assert.equal(cronProblem(expression), null, expression);
  }
  for (const expression of ["", "every day", "61 * * * *", "* * *"]) {
    assert.ok((cronProblem(expression) ?? "").length > 0, expression);
  }
});
