import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  chooseShares,
  chooseWidth,
  distancesOf,
  poolQuantiles,
  scorePooled,
} from "../../../../../src/models/forecastnet/training/ensemble.ts";
import {
  crpsOf,
  type HeldOutForecasts,
  sampleCount,
  sampleLevels,
} from "../../../../../src/models/held-out.ts";
import { normalQuantile } from "../../../../../src/models/normal.ts";
import { scoreLevels } from "../../../../../src/models/scores.ts";

const points = 400;

/** Forecasts N(bias, spread²) of standard normal noise. */
function forecaster(bias: number, spread: number, actual = noise()): HeldOutForecasts {
  const samples = new Float64Array(points * sampleCount);
  for (let i = 0; i < samples.length; i++)
    samples[i] = bias + spread * normalQuantile(sampleLevels[i % sampleCount]);
  const origins = [{ series: 0, step: 0 }];
  return { origins, starts: Int32Array.of(0, points), samples, actual };
}

/** A perfect sample. */
function noise(): Float64Array {
  return Float64Array.from({ length: points }, (_, i) => normalQuantile((i + 0.5) / points));
}

describe("judging by samples", () => {
  test("finds the CRPS of a normal forecast of normal noise", () => {
    // E CRPS = 1/√π for a perfect standard normal forecast.
    assert.ok(Math.abs(crpsOf(forecaster(0, 1)) - 1 / Math.sqrt(Math.PI)) < 0.03);
  });

  test("agrees with the distances: a − ½B", () => {
    const one = forecaster(0.3, 1.2);
    const { a, b } = distancesOf([one]);
    assert.ok(Math.abs(a[0] - 0.5 * b[0] - crpsOf(one)) < 0.01);
  });
});

describe("shares of a mixture", () => {
  test("sum to one, and go to the good candidates", () => {
    const shares = chooseShares(distancesOf([forecaster(0.2, 1), forecaster(3, 1), forecaster(-0.2, 1)]), 3);
    assert.ok(Math.abs(shares.reduce((sum, share) => sum + share, 0) - 1) < 1e-9);
    assert.ok(shares[1] < 0.05, `the bad one has ${shares[1]}`);
    assert.ok(shares[0] > 0.3 && shares[2] > 0.2);
  });

  test("let errors of opposite sign cancel", () => {
    const shares = chooseShares(
      distancesOf([forecaster(1, 0.5), forecaster(-1, 0.5), forecaster(1, 0.5)]),
      3,
    );
    assert.ok(Math.abs(shares[1] - 0.5) < 0.1, `the one on the other side has ${shares[1]}`);
  });

  test("are given to no more members than asked for, the best together", () => {
    const shares = chooseShares(distancesOf([forecaster(2, 1), forecaster(0, 1), forecaster(-2, 1)]), 1);
    assert.deepEqual([...shares], [0, 1, 0]);
  });

  test("are defined for perfect forecasts", () => {
    const actual = new Float64Array(points).fill(2);
    const perfect = { ...forecaster(0, 1), samples: new Float64Array(points * sampleCount).fill(2), actual };
    const shares = chooseShares(distancesOf([perfect, perfect]), 2);
    assert.equal(shares[0] + shares[1], 1);
  });
});

describe("a pooled forecast", () => {
  test("has the quantiles of its only member", () => {
    const [quantiles] = poolQuantiles([forecaster(0, 1)], [1]);
    for (const [l, level] of scoreLevels.entries()) {
      assert.ok(Math.abs(quantiles[l] - normalQuantile(level)) < 0.1, `level ${level}: ${quantiles[l]}`);
    }
  });

  test("is widened when it is too sure, and narrowed when it is not sure enough", () => {
    const { actual } = forecaster(0, 1);
    const tooSure = chooseWidth(poolQuantiles([forecaster(0, 0.7)], [1]), actual);
    const tooWide = chooseWidth(poolQuantiles([forecaster(0, 1.4)], [1]), actual);
    assert.ok(tooSure > 1.2, `width ${tooSure}`);
    assert.ok(tooWide < 0.85, `width ${tooWide}`);
  });

  test("covers what it claims when it is right", () => {
    const { actual } = forecaster(0, 1);
    const sheet = scorePooled(poolQuantiles([forecaster(0, 1)], [1]), actual);
    assert.ok(Math.abs(sheet.coverage80 - 0.8) < 0.05);
  });
});
