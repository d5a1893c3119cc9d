import assert from "node:assert/strict";
import { test } from "node:test";
import { EvaluationSchedule } from "../../../src/lifecycle/schedule.ts";

const dawnMs = Date.UTC(2024, 0, 1);
const minuteMs = 60_000;

function open(expression: string) {
  const now = { ms: dawnMs };
  return { now, schedule: new EvaluationSchedule(expression, { nowMs: () => now.ms }) };
}

test("a turn is taken once, when it has come", () => {
  const { now, schedule } = open("*/5 * * * *");
  assert.equal(schedule.takeTurn(), false, "not as soon as it begins");
  now.ms = dawnMs + 5 * minuteMs - 1;
  assert.equal(schedule.takeTurn(), false);
  now.ms = dawnMs + 5 * minuteMs;
  assert.deepEqual([schedule.takeTurn(), schedule.takeTurn()], [true, false]);
  assert.equal(schedule.nextMs, dawnMs + 10 * minuteMs);
});

test("turns that were missed are one, and the rhythm stays", () => {
  const { now, schedule } = open("*/5 * * * *");
  now.ms = dawnMs + 1_003 * minuteMs;
  assert.deepEqual([schedule.takeTurn(), schedule.takeTurn()], [true, false]);
  assert.equal(schedule.nextMs, dawnMs + 1_005 * minuteMs);
});

test("a clock that is set back makes no turn come twice", () => {
  const { now, schedule } = open("*/5 * * * *");
  now.ms = dawnMs + 5 * minuteMs;
  assert.equal(schedule.takeTurn(), true);
  now.ms = dawnMs;
  assert.equal(schedule.takeTurn(), false);
  now.ms = dawnMs + 5 * minuteMs;
  assert.equal(schedule.takeTurn(), false);
});

test("a schedule whose time never comes has no turn", () => {
  const { now, schedule } = open("0 0 30 2 *");
  now.ms = Date.UTC(2999, 0, 1);
  assert.deepEqual([schedule.takeTurn(), schedule.nextMs], [false, Number.POSITIVE_INFINITY]);
});
