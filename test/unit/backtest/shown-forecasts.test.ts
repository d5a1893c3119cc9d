// The forecasts that a report shows of a series.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ShownForecasts } from "../../../src/backtest/shown-forecasts.ts";

function chosenOf(crps: readonly number[]): readonly number[] {
  const shown = new ShownForecasts();
  for (const [i, one] of crps.entries())
    shown.add({ originMs: i, timesMs: [i + 1], levels: [0.5], quantiles: [[0]], crps: one });
  return shown.chosen().map((forecast) => forecast.crps);
}

describe("the forecasts that are shown", () => {
  test("are the best, a middling one and the worst of very many", () => {
    const [best, middle, worst, ...others] = chosenOf(
      Array.from({ length: 10_000 }, (_, i) => ((i * 7919) % 10_000) / 10_000),
    );
    assert.deepEqual([best, worst, others.length], [0, 0.9999, 0]);
    assert.ok((middle ?? 0) > 0.2 && (middle ?? 0) < 0.8, `the middle one is ${middle}`);
  });

  test("are fewer where there were fewer", () => {
    assert.deepEqual(chosenOf([]), []);
    assert.deepEqual(chosenOf([3]), [3]);
    assert.deepEqual(chosenOf([3, 1]), [1, 3]);
  });
});
