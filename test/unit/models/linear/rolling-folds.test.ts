import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { foldsOf, hasTwoFolds, rollingFolds } from "../../../../src/models/folds.ts";

const historyOf = (steps: number) => ({
  values: Float64Array.from({ length: steps }, (_, t) => Math.sin(t)),
  filled: null,
});
const reach = { horizon: 6, channels: 1, longest: 12 };

describe("the folds on which linear maps are judged", () => {
  test("are the two folds of all families from 20 horizons on", () => {
    const long = [historyOf(120)];
    assert.ok(hasTwoFolds(long, reach));
    assert.deepEqual(rollingFolds(long, reach), foldsOf(long, reach));
  });

  test("of a shorter history are three that leave out no origin to its end", () => {
    const short = [historyOf(60)];
    assert.ok(!hasTwoFolds(short, reach));
    const folds = rollingFolds(short, reach);
    assert.equal(folds.length, 3);
    const steps = folds.flatMap(({ origins }) => origins.map(({ step }) => step));
    // The first 60 % of the 54 possible origins only train.
    assert.deepEqual(
      steps,
      Array.from({ length: 54 - 32 + 1 }, (_, i) => 32 + i),
    );
    for (const { trainTo, origins } of folds) assert.equal(origins[0].step, trainTo[0]);
  });
});
