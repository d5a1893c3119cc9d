import assert from "node:assert/strict";
import { test } from "node:test";
import { TrainingBudget } from "../../../src/lifecycle/training-budget.ts";

function open(perHour: number) {
  const now = { ms: 0 };
  return { now, budget: new TrainingBudget({ nowMs: () => now.ms }, perHour) };
}

test("a budget starts with an hour's worth, refills evenly, and never holds more", () => {
  const { now, budget } = open(3600);
  assert.equal(budget.left, 3600);
  budget.spend(3000);
  assert.equal(budget.left, 600);
  now.ms += 60_000;
  assert.equal(budget.left, 660);
  now.ms += 10 * 3_600_000;
  assert.equal(budget.left, 3600);
});

test("a training that took more than was left delays the next ones until that is earned back", () => {
  const { now, budget } = open(3600);
  budget.spend(3700);
  assert.equal(budget.left, -100);
  now.ms += 99_000;
  assert.ok(budget.left < 0);
  now.ms += 2_000;
  assert.ok(budget.left > 0);
});

test("a budget of 0 is no limit", () => {
  const { budget } = open(0);
  budget.spend(1e9);
  assert.equal(budget.left, Number.POSITIVE_INFINITY);
});
