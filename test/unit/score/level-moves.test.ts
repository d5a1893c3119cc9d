import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { calibratedLevels, levelMovesOf } from "../../../src/score/level-moves.ts";

describe("levels", () => {
  test("two levels at the same distance from the median form an interval, others stand alone", () => {
    const { lower, upper, intervalOf } = calibratedLevels([0.05, 0.1, 0.5, 0.9, 0.99]);
    assert.deepEqual([...lower], [0, 1, -1]);
    assert.deepEqual([...upper], [-1, 3, 4]);
    assert.deepEqual([...intervalOf], [0, 1, -1, 1, 2]);
  });

  test("the inner neighbour of the innermost level is the one beyond the median", () => {
    assert.deepEqual([...calibratedLevels([0.1, 0.25, 0.5, 0.75, 0.9]).inner], [1, 3, -1, 1, 3]);
    assert.deepEqual([...calibratedLevels([0.5, 0.9]).inner], [-1, -1]);
    assert.deepEqual([...calibratedLevels([0.4, 0.6]).inner], [1, 0]);
  });
});

describe("moves", () => {
  const levels = [0.1, 0.25, 0.5, 0.75, 0.9];
  const moves = levelMovesOf(levels);
  const stated = Float64Array.of(-2, -1, 0, 1, 2);
  const rowOf = (y: number) => {
    const found = moves.caseOf(y, stated, 0);
    return {
      moves: [...moves.moves.subarray(5 * found, 5 * found + 5)],
      widenings: [...moves.widenings.subarray(2 * found, 2 * found + 2)],
      pull: moves.pulls[found],
    };
  };

  test("an observation above all levels widens every interval and pulls all levels up", () => {
    const { widenings, pull } = rowOf(5);
    assert.ok(widenings[0] > widenings[1] && widenings[1] > 0, "the outer interval widens faster");
    assert.ok(Math.abs(pull - 0.1) < 1e-12);
  });

  test("an observation at the median narrows every interval and pulls nowhere", () => {
    const { widenings, pull } = rowOf(0);
    assert.ok(widenings.every((widening) => widening < 0));
    assert.ok(Math.abs(pull) < 1e-12);
  });

  test("the median never moves", () => {
    for (const y of [-5, -1.5, -0.5, 0.5, 1.5, 5]) assert.ok(Math.abs(rowOf(y).moves[2]) === 0);
  });

  test("intervals keep their width on average over observations that fall as their levels say", () => {
    const shares = [0.1, 0.15, 0.25, 0.25, 0.15, 0.1];
    const rows = [-5, -1.5, -0.5, 0.5, 1.5, 5].map(rowOf);
    for (const j of [0, 1]) {
      const mean = rows.reduce((sum, { widenings }, i) => sum + shares[i] * widenings[j], 0);
      assert.ok(Math.abs(mean) < 1e-12, `interval ${j} drifts by ${mean}`);
    }
  });

  test("lists with the same levels share one table", () => {
    assert.equal(levelMovesOf([...levels]), moves);
  });
});
