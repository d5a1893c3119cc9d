import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Hindsight } from "../../../../src/models/hindsight.ts";
import { pinballOf } from "../../../../src/models/scores.ts";
import {
  ABSOLUTE,
  CAPPED,
  CRPS,
  createScoreRule,
  INSIDE,
  PINBALL,
  STEPS,
  Tally,
} from "../../../../src/retrain/live/step-scores.ts";

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
  return tallied(levels, { quantiles: [99, ...quantiles], starts: [1], actuals: [actual] }, [naiveError]);
}

/** All forecasts of a slot; the bound of their errors is out of reach unless given. */
function tallied(
  levels: readonly number[],
  slot: { readonly quantiles: number[]; readonly starts: number[]; readonly actuals: number[] },
  naiveErrors: readonly number[],
  errorCap = Number.POSITIVE_INFINITY,
): Float64Array {
  const hindsight = new Hindsight();
  hindsight.begin(Float32Array.from(slot.quantiles), slot.actuals.length);
  for (const start of slot.starts) hindsight.push(0, start);
  hindsight.actuals.set(slot.actuals);
  const tally = new Tally(createScoreRule(levels));
  tally.sums.fill(7); // Of the slot before.
  tally.add(hindsight, naiveErrors, errorCap);
  return tally.sums;
}

describe("a step", () => {
  test("gives the absolute error of the median, the mean pinball loss and the CRPS, each in its unit", () => {
    const levels = [0.1, 0.5, 0.9];
    const quantiles = [2, 4, 8];
    const sums = scored(levels, quantiles, 7, 2);
    const losses = levels.map((level, l) => pinballOf(level, 7, quantiles[l]));
    near(sums[STEPS], 1);
    near(sums[ABSOLUTE], 3 / 2);
    near(sums[PINBALL], (losses[0] + losses[1] + losses[2]) / 3 / 2);
    near(sums[CRPS], (2 * (0.4 * (losses[0] + losses[1]) * 0.5 + 0.4 * (losses[1] + losses[2]) * 0.5)) / 0.8);
  });

  test("is inside a central interval up to its very edges", () => {
    const levels = [0.05, 0.1, 0.5, 0.9, 0.95];
    const inside = (actual: number) => [...scored(levels, [1, 2, 3, 4, 5], actual).subarray(INSIDE)];
    assert.deepEqual(inside(3), [1, 1]);
    assert.deepEqual(inside(4), [1, 1]);
    assert.deepEqual(inside(4.5), [0, 1]);
    assert.deepEqual(inside(1), [0, 1]);
    assert.deepEqual(inside(0.5), [0, 0]);
  });

  test("has the CRPS of a point forecast, its absolute error, when all quantiles are one", () => {
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

  test("of several channels is their mean", () => {
    const slot = { quantiles: [0, 1, 2, 0, 10, 20], starts: [0], actuals: [2, 40] };
    const sums = tallied([0.1, 0.5, 0.9], slot, [1, 10]);
    assert.equal(sums[STEPS], 1);
    near(sums[ABSOLUTE], (1 + 3) / 2);
    near(sums[INSIDE], 0.5);
  });

  test("gives finite scores whatever was foreseen", () => {
    const wild = [Number.NEGATIVE_INFINITY, Number.NaN, Number.POSITIVE_INFINITY];
    for (const actual of [0, 1e300, -1e300])
      for (const sum of scored([0.1, 0.4, 0.9], wild, actual, 1e-3))
        assert.ok(Number.isFinite(sum), `${sum}`);
  });
});

describe("a slot", () => {
  const levels = [0.1, 0.5, 0.9];
  const slot = { quantiles: [0, 1, 2, 3, 5, 7, 2, 4, 6], starts: [0, 6, 3], actuals: [2] };

  test("adds up what all its forecasts give", () => {
    const each = slot.starts.map((start) => tallied(levels, { ...slot, starts: [start] }, [2]));
    const sums = tallied(levels, slot, [2]);
    for (const [i, sum] of sums.entries()) near(sum, each[0][i] + each[1][i] + each[2][i]);
    assert.deepEqual([sums[STEPS], sums[INSIDE]], [3, 2]);
  });

  test("counts in the bounded sum for no more than the bound for each forecast", () => {
    const [plain, bounded, free] = [Number.POSITIVE_INFINITY, 0.25, 100].map((cap) =>
      tallied(levels, slot, [2], cap),
    );
    near(plain[ABSOLUTE], (1 + 2 + 3) / 2);
    assert.equal(plain[CAPPED], plain[ABSOLUTE]);
    near(bounded[CAPPED], 3 * 0.25);
    assert.equal(free[CAPPED], plain[ABSOLUTE]);
  });
});

describe("levels", () => {
  test("without the median have it interpolated", () => {
    near(scored([0.4, 0.6], [10, 20], 15)[ABSOLUTE], 0);
    near(scored([0.2, 0.6], [10, 20], 17.5)[ABSOLUTE], 0);
  });

  test("on one side of the median give the nearest to it", () => {
    near(scored([0.8, 0.9], [10, 20], 10)[ABSOLUTE], 0);
    near(scored([0.1, 0.2], [10, 20], 20)[ABSOLUTE], 0);
    near(scored([0.5], [10], 13)[CRPS], 3);
  });

  test("without a partner make no interval, and the narrowest comes first", () => {
    const { intervals } = createScoreRule([0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975]);
    assert.deepEqual(
      intervals.map(({ stated }) => stated),
      [0.5, 0.8, 0.95],
    );
  });
});
