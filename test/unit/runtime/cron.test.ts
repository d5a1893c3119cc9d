import assert from "node:assert/strict";
import { test } from "node:test";
import { cronProblem, nextRunMs } from "../../../src/runtime/cron.ts";

const at = (text: string) => Date.parse(text);
const next = (expression: string, after: string) => {
  const ms = nextRunMs(expression, at(after));
  return ms === null ? null : new Date(ms).toISOString();
};

test("the next run is strictly after the given time", () => {
  assert.equal(next("*/5 * * * *", "2024-01-01T00:04:59.999Z"), "2024-01-01T00:05:00.000Z");
  assert.equal(next("*/5 * * * *", "2024-01-01T00:05:00.000Z"), "2024-01-01T00:10:00.000Z");
});

test("an expression with six fields starts with seconds", () => {
  assert.equal(next("*/10 * * * * *", "2024-01-01T00:00:03Z"), "2024-01-01T00:00:10.000Z");
});

test("times are UTC whatever the time zone of the machine", () => {
  for (const [after, expected] of [
    ["2024-03-30T12:00:00Z", "2024-03-31T02:30:00.000Z"],
    ["2024-10-26T12:00:00Z", "2024-10-27T02:30:00.000Z"],
  ]) {
    assert.equal(next("30 2 * * *", after), expected);
  }
});

test("the next run finds a leap day, and is null for a day that never comes", () => {
  assert.equal(next("0 0 29 2 *", "2024-03-01T00:00:00Z"), "2028-02-29T00:00:00.000Z");
  assert.equal(next("0 0 30 2 *", "2024-01-01T00:00:00Z"), null);
  assert.equal(next("2020-01-01T00:00:00", "2024-01-01T00:00:00Z"), null);
});

test("cronProblem explains an invalid expression and is null for a valid one", () => {
  for (const expression of ["*/5 * * * *", "*/10 * * * * *", "@hourly"]) {
    assert.equal(cronProblem(expression), null, expression);
  }
  for (const expression of ["", "every day", "61 * * * *", "* * *"]) {
    assert.ok((cronProblem(expression) ?? "").length > 0, expression);
  }
});
