import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { pinballOf } from "../../../src/models/scores.ts";
import { MaturedSlot } from "../../../src/score/matured-slot.ts";
import {
  ABSOLUTE,
  CAPPED,
  CRPS,
  createScoreRule,
  INSIDE,
  RollingScores,
  SlotScores,
  STEPS,
} from "../../../src/score/rolling-scores.ts";

const near = (actual: number, expected: number) =>
  assert.ok(
    Math.abs(actual - expected) <= 1e-9 * Math.max(1, Math.abs(expected)),
    `${actual}, expected ${expected}`,
  );

function scored(
  levels: readonly number[],
  quantiles: readonly number[],
  actual: number,
  naiveError = 1,
): Float64Array {
  return sumsOf(levels, { quantiles: [99, ...quantiles], starts: [1], actuals: [actual] }, [naiveError]);
}

/** The sums of all forecasts of a slot; errors are not capped unless a cap is given. */
function sumsOf(
  levels: readonly number[],
  slot: { readonly quantiles: number[]; readonly starts: number[]; readonly actuals: number[] },
  naiveErrors: readonly number[],
  errorCap = Number.POSITIVE_INFINITY,
): Float64Array {
  const matured = new MaturedSlot();
  const cell = slot.actuals.length * levels.length;
  matured.begin(slot.actuals.length, levels.length);
  for (const start of slot.starts) matured.add(0, slot.quantiles.slice(start, start + cell));
  for (const [c, actual] of slot.actuals.entries()) matured.observe(c, actual);
  const slotScores = new SlotScores(createScoreRule(levels));
  slotScores.sums.fill(7); // Left by the slot before.
  slotScores.compute(matured, naiveErrors, errorCap);
  return slotScores.sums;
}

describe("a step", () => {
  test("a step has the absolute error of its median and its CRPS, each in its unit", () => {
    const levels = [0.1, 0.5, 0.9];
    const quantiles = [2, 4, 8];
    const sums = scored(levels, quantiles, 7, 2);
    const losses = levels.map((level, l) => pinballOf(level, 7, quantiles[l]));
    near(sums[STEPS], 1);
    near(sums[ABSOLUTE], 3 / 2);
    near(sums[CRPS], (2 * (0.4 * (losses[0] + losses[1]) * 0.5 + 0.4 * (losses[1] + losses[2]) * 0.5)) / 0.8);
  });

  test("a value on the edge of a central interval is inside", () => {
    const levels = [0.05, 0.1, 0.5, 0.9, 0.95];
    const inside = (actual: number) => [...scored(levels, [1, 2, 3, 4, 5], actual).subarray(INSIDE)];
    assert.deepEqual(inside(3), [1, 1]);
    assert.deepEqual(inside(4), [1, 1]);
    assert.deepEqual(inside(4.5), [0, 1]);
    assert.deepEqual(inside(1), [0, 1]);
    assert.deepEqual(inside(0.5), [0, 0]);
  });

  test("the CRPS of a point forecast is its absolute error", () => {
    fc.assert(
      fc.property(fc.integer({ min: -50, max: 50 }), fc.integer({ min: -50, max: 50 }), (point, actual) => {
        const levels = [0.025, 0.25, 0.5, 0.75, 0.975];
        near(
          scored(
            levels,
            levels.map(() => point),
            actual,
          )[CRPS],
          Math.abs(actual - point),
        );
      }),
    );
  });

  test("the scores of several channels are their mean", () => {
    const slot = { quantiles: [0, 1, 2, 0, 10, 20], starts: [0], actuals: [2, 40] };
    const sums = sumsOf([0.1, 0.5, 0.9], slot, [1, 10]);
    assert.equal(sums[STEPS], 1);
    near(sums[ABSOLUTE], (1 + 3) / 2);
    near(sums[INSIDE], 0.5);
  });

  test("scores are finite whatever was forecast", () => {
    const wild = [Number.NEGATIVE_INFINITY, Number.NaN, Number.POSITIVE_INFINITY];
    for (const actual of [0, 1e300, -1e300])
      for (const sum of scored([0.1, 0.4, 0.9], wild, actual, 1e-3))
        assert.ok(Number.isFinite(sum), `${sum}`);
  });
});

describe("a slot", () => {
  const levels = [0.1, 0.5, 0.9];
  const slot = { quantiles: [0, 1, 2, 3, 5, 7, 2, 4, 6], starts: [0, 6, 3], actuals: [2] };

  test("a slot has the sums of all its forecasts", () => {
    const each = slot.starts.map((start) => sumsOf(levels, { ...slot, starts: [start] }, [2]));
    const sums = sumsOf(levels, slot, [2]);
    for (const [i, sum] of sums.entries()) near(sum, each[0][i] + each[1][i] + each[2][i]);
    assert.deepEqual([sums[STEPS], sums[INSIDE]], [3, 2]);
  });

  test("the capped sum of a slot is at most the cap for each forecast", () => {
    const [plain, bounded, free] = [Number.POSITIVE_INFINITY, 0.25, 100].map((cap) =>
      sumsOf(levels, slot, [2], cap),
    );
    near(plain[ABSOLUTE], (1 + 2 + 3) / 2);
    assert.equal(plain[CAPPED], plain[ABSOLUTE]);
    near(bounded[CAPPED], 3 * 0.25);
    assert.equal(free[CAPPED], plain[ABSOLUTE]);
  });
});

describe("levels", () => {
  test("the median is interpolated when it is not among the levels", () => {
    near(scored([0.4, 0.6], [10, 20], 15)[ABSOLUTE], 0);
    near(scored([0.2, 0.6], [10, 20], 17.5)[ABSOLUTE], 0);
  });

  test("levels on one side of the median use the nearest one as median", () => {
    near(scored([0.8, 0.9], [10, 20], 10)[ABSOLUTE], 0);
    near(scored([0.1, 0.2], [10, 20], 20)[ABSOLUTE], 0);
    near(scored([0.5], [10], 13)[CRPS], 3);
  });

  test("a level without its counterpart has no interval, and the narrowest interval comes first", () => {
    const { intervals } = createScoreRule([0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975]);
    assert.deepEqual(
      intervals.map(({ stated }) => stated),
      [0.5, 0.8, 0.95],
    );
  });
});

const rule = createScoreRule([0.1, 0.5, 0.9]);

function slotOf(steps: number, absolute: number, crps = 0, inside = 0): Float64Array {
  const sums = new Float64Array(rule.sumCount);
  sums[STEPS] = steps;
  sums[ABSOLUTE] = absolute;
  sums[CRPS] = crps;
  sums[INSIDE] = inside;
  return sums;
}

test("scores are null before the first slot", () => {
  assert.equal(new RollingScores(rule, 5).scores(), null);
});

test("a mean weights each score by the age of its slot", () => {
  const rolling = new RollingScores(rule, 5);
  rolling.add(slotOf(1, 1, 2, 1), 10);
  assert.deepEqual(rolling.scores(), {
    mase: 1,
    crps: 2,
    coverage: [{ stated: 0.8, observed: 1 }],
    scoredSteps: 1,
  });
  rolling.add(slotOf(2, 6, 0, 0), 13);
  const old = Math.exp(-3 / 5);
  near(rolling.mase, (old + 6) / (old + 2));
  near(rolling.scores()?.crps ?? 0, (2 * old) / (old + 2));
  near(rolling.scores()?.coverage[0].observed ?? 0, old / (old + 2));
  assert.deepEqual([rolling.newestSlot, rolling.scoredSlots], [13, 2]);
});

test("a late slot counts as if it had been in time", () => {
  const slots = [3, 4, 6, 9];
  fc.assert(
    fc.property(fc.shuffledSubarray(slots, { minLength: slots.length }), (order) => {
      const inTime = new RollingScores(rule, 4);
      const late = new RollingScores(rule, 4);
      for (const slot of slots) inTime.add(slotOf(1, slot, slot), slot);
      for (const slot of order) late.add(slotOf(1, slot, slot), slot);
      near(late.mase, inTime.mase);
      near(late.scores()?.crps ?? 0, inTime.scores()?.crps ?? Number.NaN);
      assert.equal(late.newestSlot, 9);
    }),
  );
});

test("a replaced value counts as if the slot had never held another", () => {
  const amended = new RollingScores(rule, 4);
  const right = new RollingScores(rule, 4);
  for (const slot of [3, 4, 6]) {
    amended.add(slotOf(1, slot === 4 ? 50 : 1, 1), slot);
    right.add(slotOf(1, 1, 1), slot);
  }
  amended.replace(slotOf(1, 50, 1), slotOf(1, 1, 1), 4);
  near(amended.mase, right.mase);
  assert.equal(amended.scoredSlots, 3);
});

test("a replaced error never leaves a score below zero", () => {
  const rolling = new RollingScores(rule, 3);
  rolling.add(slotOf(1, 0.1), 1);
  for (let slot = 2; slot < 9; slot++) rolling.add(slotOf(1, 0), slot);
  rolling.replace(slotOf(1, 0.1), slotOf(1, 0), 1);
  assert.ok(rolling.mase >= 0 && rolling.mase < 1e-12, `${rolling.mase}`);
});

test("scores loaded from a store continue like the original", () => {
  const rolling = new RollingScores(rule, 3);
  rolling.add(slotOf(2, 5, 1, 1), 7);
  const restored = new RollingScores(rule, 3);
  restored.load(rolling);
  for (const one of [rolling, restored]) one.add(slotOf(1, 3, 1, 0), 9);
  assert.deepEqual(restored.scores(), rolling.scores());
  const unborn = new RollingScores(rule, 3);
  unborn.load({ sums: new Float64Array(rule.sumCount), newestSlot: 0, scoredSlots: 0 });
  assert.equal(unborn.newestSlot, Number.NEGATIVE_INFINITY);
});
