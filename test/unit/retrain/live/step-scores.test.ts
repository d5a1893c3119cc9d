import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { pinballOf } from "../../../../src/models/scores.ts";
import {
  ABSOLUTE,
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
  const tally = new Tally(createScoreRule(levels));
  tally.begin(1);
  tally.addChannel(Float32Array.from([99, ...quantiles]), 1, actual, naiveError);
  tally.endStep();
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
    const tally = new Tally(createScoreRule([0.1, 0.5, 0.9]));
    tally.begin(2);
    tally.addChannel(Float32Array.of(0, 1, 2, 0, 10, 20), 0, 2, 1);
    tally.addChannel(Float32Array.of(0, 1, 2, 0, 10, 20), 3, 40, 10);
    tally.endStep();
    assert.equal(tally.sums[STEPS], 1);
    near(tally.sums[ABSOLUTE], (1 + 3) / 2);
    near(tally.sums[INSIDE], 0.5);
  });

  test("gives finite scores whatever was foreseen", () => {
    const wild = [Number.NEGATIVE_INFINITY, Number.NaN, Number.POSITIVE_INFINITY];
    for (const actual of [0, 1e300, -1e300])
      for (const sum of scored([0.1, 0.4, 0.9], wild, actual, 1e-3))
        assert.ok(Number.isFinite(sum), `${sum}`);
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
