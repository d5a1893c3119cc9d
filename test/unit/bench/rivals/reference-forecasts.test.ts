// A rival's forecasts count as equal within a tolerance in their numbers, and exactly in everything else but the scores.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Comparison, tolerance } from "../../../../bench/rivals/reference-forecasts.ts";
import type { ForecastRecord } from "../../../../src/log/codec/schemas.generated.ts";

const reference: ForecastRecord = {
  id: "pump@120000/seasonal-naive-2",
  seriesId: "pump",
  origin: 120_000,
  interval: "PT1M",
  horizon: 2,
  channels: 1,
  times: [180_000, 240_000],
  mean: [20, 21],
  standardDeviation: [1, 1],
  quantiles: [
    { level: 0.1, values: [19, 20] },
    { level: 0.9, values: [21, 22] },
  ],
  tier: "COLD",
  method: "seasonal-naive",
  modelKey: "pump",
  modelVersion: "seasonal-naive-2",
  filledShare: 0,
  freshSteps: 60,
  skippedOrigins: 0,
  calibration: null,
  scores: { mase: 1, crps: 1, coverage: [], scoredSteps: 10 },
};

function compare(change: Partial<ForecastRecord>): Comparison {
  const comparison = new Comparison("rival", new Map([[reference.id, reference]]));
  comparison.add({ ...reference, scores: null, ...change });
  return comparison;
}

test("a rival without scores whose numbers differ by rounding is equal", () => {
  const comparison = compare({ mean: [20, 21 * (1 + tolerance / 2)] });
  comparison.demandComplete();
  assert.ok(Math.abs(comparison.largest - tolerance / 2) < tolerance / 100, String(comparison.largest));
});

test("a mean, a deviation or a quantile beyond the tolerance is named with its forecast", () => {
  assert.throws(() => compare({ mean: [20, 21.001] }), /rival differs .*pump@120000.*: 21\.001, not 21/);
  assert.throws(() => compare({ standardDeviation: [1, 2] }), /: 2, not 1/);
  const quantiles = [reference.quantiles[0], { level: 0.9, values: [21, Number.NaN] }];
  assert.throws(() => compare({ quantiles }), /: NaN, not 22/);
});

test("a time, a level or a length that is not the same is a difference", () => {
  assert.throws(() => compare({ times: [180_000, 240_001] }), /240001/);
  assert.throws(() => compare({ mean: [20] }), /"steps":1/);
  const quantiles = [reference.quantiles[0], { level: 0.8, values: [21, 22] }];
  assert.throws(() => compare({ quantiles }), /0\.8/);
});

test("a rival that left out a compared forecast is refused", () => {
  const comparison = compare({ id: "pump@180000/seasonal-naive-2" });
  assert.throws(() => comparison.demandComplete(), /rival: 0 of 1 forecasts/);
});
