// Systems compared: means over the series that all were scored on, ranks, Borda counts, and the test of the two best.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SystemRun } from "../../../src/backtest/backtest.ts";
import { compareSystems } from "../../../src/backtest/comparison.ts";
import type { Scores } from "../../../src/backtest/test-scores.ts";
import { createRandom } from "../../../src/runtime/random.ts";

function scoresOf(crps: number): Scores {
  const rest = { steps: 10, mase: 2 * crps, smape: 5, rmsse: crps, msis: 9 };
  return {
    ...rest,
    crps,
    coverage: [{ stated: 0.8, observed: crps, width: 1 }],
    maseByStep: [crps],
    belowByLevel: [0.5],
  };
}

/** `crps`: of each series, null where it was not scored. */
function runOf(name: string, crps: readonly (number | null)[], losses: readonly number[] = []): SystemRun {
  return {
    system: { name, argv: [] },
    decisions: [{ seriesId: "s0", timeMs: 0, kind: "promoted", reason: "better" }],
    cpuSeconds: 1,
    series: crps.map((own, i) => ({
      seriesId: `s${i}`,
      scores: own === null ? null : scoresOf(own),
      originsMs: Float64Array.from(losses, (_, k) => k),
      crps: Float64Array.from(losses),
      shown: [],
    })),
  };
}

describe("a comparison", () => {
  test("orders the systems by their mean CRPS over the series that all were scored on", () => {
    const runs = [runOf("a", [3, 1, null]), runOf("b", [1, 1, 1]), runOf("c", [2, 4, 1])];
    const { systems, comparedSeries } = compareSystems(runs, 1);
    assert.equal(comparedSeries, 2);
    assert.deepEqual(
      systems.map(({ name, scores, rank, borda, promotions }) => [
        name,
        scores?.crps,
        scores?.mase,
        rank,
        borda,
        promotions,
      ]),
      [
        ["b", 1, 2, 1.25, 3, 1],
        ["a", 2, 4, 2.25, 1, 1],
        ["c", 3, 6, 2.5, 1, 1],
      ],
    );
    assert.deepEqual(systems[0]?.scores?.coverage, [{ stated: 0.8, observed: 1, width: 1 }]);
  });

  test("has no scores where no series was scored by all", () => {
    const { systems, comparedSeries } = compareSystems([runOf("a", [null, 1]), runOf("b", [1, null])], 1);
    assert.deepEqual([comparedSeries, systems[0]?.scores], [0, null]);
  });
});

describe("the test of the two best", () => {
  const random = createRandom(3);
  const noise = Array.from({ length: 400 }, () => random.normal());

  test("of one step ahead is the mean difference over its standard error", () => {
    const one = noise.map((x) => 5 + x);
    const other = noise.map((_, i) => 5.2 + (noise[(i + 100) % 400] as number));
    const { bestTwo } = compareSystems([runOf("a", [1], one), runOf("b", [2], other)], 1);
    const d = one.map((x, i) => x - (other[i] as number));
    const mean = d.reduce((sum, x) => sum + x, 0) / 400;
    const variance = d.reduce((sum, x) => sum + (x - mean) ** 2, 0) / 400;
    const expected = (mean / Math.sqrt(variance / 400)) * Math.sqrt(399 / 400);
    assert.deepEqual([bestTwo?.best, bestTwo?.second, bestTwo?.origins], ["a", "b", 400]);
    assert.ok(
      Math.abs((bestTwo?.statistic ?? 0) - expected) < 1e-9,
      `${bestTwo?.statistic} is not ${expected}`,
    );
  });

  test("finds a small but steady difference, and none in noise", () => {
    const steady = compareSystems(
      [
        runOf("a", [1], noise),
        runOf(
          "b",
          [2],
          noise.map((x, i) => x + 0.1 + 0.01 * (i % 3)),
        ),
      ],
      4,
    );
    assert.ok((steady.bestTwo?.pValue ?? 1) < 1e-6, `p is ${steady.bestTwo?.pValue}`);
    const shuffled = noise.map((_, i) => noise[(i * 7 + 3) % 400] as number);
    const chance = compareSystems([runOf("a", [1], noise), runOf("b", [2], shuffled)], 4);
    assert.ok((chance.bestTwo?.pValue ?? 0) > 0.05, `p is ${chance.bestTwo?.pValue}`);
  });

  test("needs enough origins", () => {
    const few = noise.slice(0, 10);
    assert.equal(
      compareSystems(
        [
          runOf("a", [1], few),
          runOf(
            "b",
            [2],
            few.map((x) => x + 1),
          ),
        ],
        1,
      ).bestTwo,
      null,
    );
  });
});
