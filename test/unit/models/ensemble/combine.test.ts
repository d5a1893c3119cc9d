import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { combine } from "../../../../src/models/ensemble/combine.ts";
import { crpsOf, type HeldOutForecasts, sampleCount, sampleLevels } from "../../../../src/models/held-out.ts";
import { normalQuantile } from "../../../../src/models/normal.ts";
import { ScoreSheet, scoreLevels } from "../../../../src/models/scores.ts";
import { createRandom } from "../../../../src/runtime/random.ts";

const points = 40;

/** Ten origins of forty points each. A forecast is the actual value plus an error, ± a spread. */
function forecaster(errorOf: (point: number) => number, spread: number, steps = range(10)): HeldOutForecasts {
  const origins = steps.map((step) => ({ series: 0, step }));
  const actual = Float64Array.from(
    { length: steps.length * points },
    (_, p) => steps[Math.floor(p / points)],
  );
  const samples = new Float64Array(actual.length * sampleCount);
  for (let p = 0; p < actual.length; p++) {
    for (let k = 0; k < sampleCount; k++)
      samples[p * sampleCount + k] = actual[p] + errorOf(p) + spread * normalQuantile(sampleLevels[k]);
  }
  return { origins, starts: Int32Array.from(range(steps.length + 1), (i) => i * points), samples, actual };
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}

function noise(seed: number): (point: number) => number {
  const random = createRandom(seed);
  const errors = range(10 * points).map(() => random.normal());
  return (point) => errors[point];
}

describe("a combination of families", () => {
  test("weighs two that err alike and independently about equally, and is better than both", () => {
    const members = [forecaster(noise(1), 1), forecaster(noise(2), 1)];
    const found = combine(members);
    assert.ok(found !== null);
    assert.ok(Math.abs(found.shares[0] - 0.5) <= 0.1, `the first has ${found.shares[0]}`);
    assert.ok(found.folds.crps < 0.8 * crpsOf(members[0]), `CRPS ${found.folds.crps}`);
    assert.equal(found.folds.points, 10 * points);
  });

  test("narrows the average of two independent forecasts, whose errors are smaller than either's", () => {
    const found = combine([forecaster(noise(1), 1), forecaster(noise(2), 1)]);
    assert.ok(found !== null && found.width < 1, `width ${found?.width}`);
  });

  test("is the better member alone where the other adds nothing", () => {
    const found = combine([forecaster(() => 0, 0.1), forecaster((p) => 5 + noise(3)(p), 1)]);
    assert.deepEqual(found?.shares, [1, 0]);
    assert.equal(found?.width, 1);
  });

  test("is scored at the levels of all families, which miss the tails", () => {
    const errorOf = noise(4);
    const sharp = forecaster(errorOf, 1);
    const found = combine([sharp, forecaster((p) => 50 + noise(3)(p), 1)]);
    const sheet = new ScoreSheet(scoreLevels);
    for (const [p, actual] of sharp.actual.entries())
      sheet.add(
        actual,
        scoreLevels.map((level) => actual + errorOf(p) + normalQuantile(level)),
      );
    assert.ok(Math.abs((found?.folds.crps ?? 0) / sheet.crps(1) - 1) < 0.005, `CRPS ${found?.folds.crps}`);
    assert.ok(Math.abs((found?.folds.mase ?? 0) - sheet.mase(1)) < 1e-9);
  });

  test("compares at the origins that all members have", () => {
    const late = forecaster(() => 0, 0.5, [7, 8, 9, 30]);
    const found = combine([forecaster(() => 1, 0.5), late]);
    assert.equal(found?.folds.points, 3 * points);
  });

  test("is none where the members have no origin in common", () => {
    assert.equal(combine([forecaster(() => 0, 1, [1]), forecaster(() => 0, 1, [2])]), null);
  });
});
