import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { naiveErrorOf, pinballOf, ScoreSheet } from "../../../src/models/scores.ts";

describe("the naive error", () => {
  test("is the mean step from one value to the next, missing ones left out", () => {
    assert.equal(naiveErrorOf(Float64Array.of(1, 2, 4, 1), 0, 4), 2);
    assert.equal(naiveErrorOf(Float64Array.of(1, 2, Number.NaN, 9, 12), 0, 5), 2);
    assert.equal(naiveErrorOf(Float64Array.of(1, 2, 4, 100), 0, 3), 1.5);
  });

  test("says nothing of a series that does not move, or is not there", () => {
    assert.equal(naiveErrorOf(Float64Array.of(3, 3, 3), 0, 3), null);
    assert.equal(naiveErrorOf(Float64Array.of(3), 0, 1), null);
  });
});

test("the pinball loss weighs a miss by the level it should not have happened at", () => {
  assert.equal(pinballOf(0.9, 10, 8), 1.8);
  assert.ok(Math.abs(pinballOf(0.9, 8, 10) - 0.2) < 1e-12);
  assert.equal(pinballOf(0.5, 4, 4), 0);
});

describe("a score sheet", () => {
  const levels = [0.1, 0.5, 0.9];

  test("scores the median as point, all quantiles as distribution, and the 80 % interval", () => {
    const sheet = new ScoreSheet(levels);
    sheet.add(5, [4, 5, 6]);
    sheet.add(9, [4, 5, 6]);
    assert.equal(sheet.steps, 2);
    assert.equal(sheet.mase(2), 1);
    assert.equal(sheet.coverage80, 0.5);
    // Pinball sums: 0.1 + 0 + 0.1 inside, 0.5 + 2 + 2.7 outside; the mean over 3 levels and 2 steps, twice.
    assert.ok(Math.abs(sheet.crps(1) - (2 * (0.2 + 5.2)) / 6) < 1e-12);
  });

  test("takes a point of its own in place of the median", () => {
    const sheet = new ScoreSheet(levels);
    sheet.add(5, [4, 5, 6], 7);
    assert.equal(sheet.mase(1), 2);
  });

  test("refuses levels without the ones it needs", () => {
    assert.throws(() => new ScoreSheet([0.25, 0.5, 0.75]), /level 0.1 is not among 0.25, 0.5, 0.75/);
  });
});
