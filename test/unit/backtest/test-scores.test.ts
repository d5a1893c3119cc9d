// Scores of forecasts, against numbers worked out by hand.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TestScores } from "../../../src/backtest/test-scores.ts";

const levels = [0.1, 0.5, 0.9];

function close(actual: number | null | undefined, expected: number, what: string): void {
  assert.ok(
    Math.abs((actual ?? Number.NaN) - expected) < 1e-12,
    `${what} is ${actual}, expected ${expected}`,
  );
}

describe("scores of a forecast", () => {
  /** Two steps: 11 in the interval from 8 to 14, and 20 above that from 8 to 16. */
  function scored() {
    const scores = new TestScores(levels, 2, 2);
    const forecast = {
      mean: [10, 13],
      quantiles: [
        [8, 8],
        [10, 12],
        [14, 16],
      ],
    };
    const crps = [scores.add(11, forecast, 0), scores.add(20, forecast, 1)];
    return { crps, scores: scores.scores() };
  }

  test("are those of the definitions, in naive errors", () => {
    const { scores } = scored();
    close(scores?.mase, (1 + 8) / 2 / 2, "MASE");
    close(scores?.rmsse, Math.sqrt((1 + 49) / 2) / 2, "RMSSE");
    close(scores?.smape, (200 / 21 + 1600 / 32) / 2, "sMAPE");
    const pinball = [0.3 + 0.5 + 0.3, 1.2 + 4 + 3.6];
    close(scores?.crps, (2 * ((pinball[0] as number) + (pinball[1] as number))) / 3 / 2 / 2, "CRPS");
    // The interval of 80 %: 2/α is 10.
    close(scores?.msis, (6 + (8 + 10 * 4)) / 2 / 2, "MSIS");
  });

  test("tell how often an interval held, how wide it was, and how often a quantile was not exceeded", () => {
    const { scores } = scored();
    const [interval] = scores?.coverage ?? [];
    close(interval?.stated, 0.8, "the stated probability");
    close(interval?.observed, 0.5, "the coverage");
    close(interval?.width, 7 / 2, "the width");
    assert.deepEqual(scores?.belowByLevel, [0, 0, 0.5]);
  });

  test("are kept by step, and the CRPS of each is returned", () => {
    const { scores, crps } = scored();
    assert.deepEqual(scores?.maseByStep, [0.5, 4]);
    close(crps[0], (2 * 1.1) / 3 / 2, "the CRPS of the first step");
  });

  test("of two zeros have no relative error", () => {
    const scores = new TestScores([0.5], 1, 1);
    scores.add(0, { mean: [0], quantiles: [[0]] }, 0);
    assert.deepEqual([scores.scores()?.smape, scores.scores()?.msis], [0, null]);
  });

  test("of nothing are none", () => {
    assert.equal(new TestScores(levels, 2, 1).scores(), null);
  });
});
