// Conditions that take turns, and ratios between those of one round.

import assert from "node:assert/strict";
import { test } from "node:test";
import { inTurns, ratiosWithin, times } from "../../../../bench/retrain/turns.ts";

test("every condition has its turn in every round, every second round backwards", async () => {
  const acted: string[] = [];
  const given = await inTurns(["a", "b", "c"], 3, async (name, round) => {
    acted.push(`${name}${round}`);
    return round;
  });
  assert.deepEqual(acted, ["a0", "b0", "c0", "c1", "b1", "a1", "a2", "b2", "c2"]);
  assert.deepEqual(given, { a: [0, 1, 2], b: [0, 1, 2], c: [0, 1, 2] });
});

test("a turn begins when the one before has ended", async () => {
  let underWay = 0;
  await inTurns(["a", "b"], 2, async () => {
    assert.equal(++underWay, 1);
    await new Promise(setImmediate);
    underWay--;
  });
});

test("a ratio is taken between facts of the same round", () => {
  const slow = [{ ms: 10 }, { ms: 40 }];
  const fast = [{ ms: 5 }, { ms: 10 }];
  assert.deepEqual(
    ratiosWithin(slow, fast, ({ ms }) => ms),
    [2, 4],
  );
  assert.equal(times(2), "2.00 ×");
});

test("rounds that have no counterpart are refused", () => {
  assert.throws(() => ratiosWithin([1, 2], [1], Number), /2 rounds cannot be held against 1/);
});
