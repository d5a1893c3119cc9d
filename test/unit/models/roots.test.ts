// Roots of values and squares of distributions.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isNeverNegative, rootsOf, squareDistribution, squareOf } from "../../../src/models/roots.ts";
import { scaleValues, unscale } from "../../../src/models/scaler.ts";
import { createRandom } from "../../../src/runtime/random.ts";

describe("roots", () => {
  test("squared give the values back, below zero too", () => {
    for (const value of [0, 2, 1e-12, 1e12, -4])
      assert.ok(Math.abs(squareOf(rootsOf(Float64Array.of(value))[0]) - value) <= 1e-9 * Math.abs(value));
  });

  test("are for series that are never negative; gaps do not count", () => {
    const of = (...values: number[]) => isNeverNegative({ values: Float64Array.from(values), filled: null });
    assert.deepEqual([of(0, Number.NaN, 3), of(0, -1e-9)], [true, false]);
  });

  test("are what a scaler of roots scales, and unscaling gives the values", () => {
    const scaler = { offset: [2], scale: [0.5], ofRoots: true };
    const scaled = scaleValues(Float64Array.of(9, 16), scaler);
    assert.deepEqual([...scaled], [2, 4]);
    assert.deepEqual(
      [...scaled].map((value) => unscale(value, scaler, 0)),
      [9, 16],
    );
  });

  test("with a normal distribution have squares with the mean and deviation that are stated", () => {
    const random = createRandom(1);
    const squares = Array.from({ length: 200_000 }, () => squareOf(6 + random.normal()));
    const mean = squares.reduce((sum, one) => sum + one, 0) / squares.length;
    const deviation = Math.sqrt(squares.reduce((sum, one) => sum + (one - mean) ** 2, 0) / squares.length);
    const stated = {
      mean: Float64Array.of(6),
      standardDeviation: Float64Array.of(1),
      quantiles: [Float64Array.of(-2), Float64Array.of(6)],
    };
    squareDistribution(stated);
    assert.ok(Math.abs(stated.mean[0] - mean) < 0.1, `mean ${stated.mean[0]}, found ${mean}`);
    assert.ok(
      Math.abs(stated.standardDeviation[0] - deviation) < 0.1,
      `deviation ${stated.standardDeviation[0]}`,
    );
    assert.deepEqual(
      stated.quantiles.map(([value]) => value),
      [-4, 36],
    );
  });
});
