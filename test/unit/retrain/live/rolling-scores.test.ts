import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { RollingScores } from "../../../../src/retrain/live/rolling-scores.ts";
import { ABSOLUTE, CRPS, createScoreRule, INSIDE, STEPS } from "../../../../src/retrain/live/step-scores.ts";

const rule = createScoreRule([0.1, 0.5, 0.9]);

function tallyOf(steps: number, absolute: number, crps = 0, inside = 0): Float64Array {
  const tally = new Float64Array(rule.tallyLength);
  tally[STEPS] = steps;
  tally[ABSOLUTE] = absolute;
  tally[CRPS] = crps;
  tally[INSIDE] = inside;
  return tally;
}

const near = (actual: number, expected: number) =>
  assert.ok(
    Math.abs(actual - expected) <= 1e-9 * Math.max(1, Math.abs(expected)),
    `${actual}, expected ${expected}`,
  );

test("there are no scores before the first slot", () => {
  assert.equal(new RollingScores(rule, 5).scores(), null);
});

test("a score fades with the age of its slot, and a mean weighs by it", () => {
  const rolling = new RollingScores(rule, 5);
  rolling.add(tallyOf(1, 1, 2, 1), 10);
  assert.deepEqual(rolling.scores(), {
    mase: 1,
    crps: 2,
    coverage: [{ stated: 0.8, observed: 1 }],
    scoredSteps: 1,
  });
  rolling.add(tallyOf(2, 6, 0, 0), 13);
  const old = Math.exp(-3 / 5);
  near(rolling.mase, (old + 6) / (old + 2));
  near(rolling.crps, (2 * old) / (old + 2));
  near(rolling.scores()?.coverage[0].observed ?? 0, old / (old + 2));
  assert.deepEqual([rolling.newestSlot, rolling.scoredSlots], [13, 2]);
});

test("a late slot counts as if it had come in time", () => {
  const slots = [3, 4, 6, 9];
  fc.assert(
    fc.property(fc.shuffledSubarray(slots, { minLength: slots.length }), (order) => {
      const inTime = new RollingScores(rule, 4);
      const late = new RollingScores(rule, 4);
      for (const slot of slots) inTime.add(tallyOf(1, slot, slot), slot);
      for (const slot of order) late.add(tallyOf(1, slot, slot), slot);
      near(late.mase, inTime.mase);
      near(late.crps, inTime.crps);
      assert.equal(late.newestSlot, 9);
    }),
  );
});

test("a replaced value counts as if it had never been another", () => {
  const amended = new RollingScores(rule, 4);
  const right = new RollingScores(rule, 4);
  for (const slot of [3, 4, 6]) {
    amended.add(tallyOf(1, slot === 4 ? 50 : 1, 1), slot);
    right.add(tallyOf(1, 1, 1), slot);
  }
  amended.replace(tallyOf(1, 50, 1), tallyOf(1, 1, 1), 4);
  near(amended.mase, right.mase);
  assert.equal(amended.scoredSlots, 3);
});

test("an error taken out again never leaves a score below zero", () => {
  const rolling = new RollingScores(rule, 3);
  rolling.add(tallyOf(1, 0.1), 1);
  for (let slot = 2; slot < 9; slot++) rolling.add(tallyOf(1, 0), slot);
  rolling.replace(tallyOf(1, 0.1), tallyOf(1, 0), 1);
  assert.ok(rolling.mase >= 0 && rolling.mase < 1e-12, `${rolling.mase}`);
});

test("what was stored goes on as it was", () => {
  const rolling = new RollingScores(rule, 3);
  rolling.add(tallyOf(2, 5, 1, 1), 7);
  const restored = new RollingScores(rule, 3);
  restored.load(rolling);
  for (const one of [rolling, restored]) one.add(tallyOf(1, 3, 1, 0), 9);
  assert.deepEqual(restored.scores(), rolling.scores());
  const unborn = new RollingScores(rule, 3);
  unborn.load({ sums: new Float64Array(rule.tallyLength), newestSlot: 0, scoredSlots: 0 });
  assert.equal(unborn.newestSlot, Number.NEGATIVE_INFINITY);
});
