// What keeps a contestant that computes something else from being timed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { differenceOf } from "../../../../bench/engine/duel.ts";

test("the difference is the largest one, in units of the largest value expected", () => {
  assert.equal(differenceOf(Float64Array.of(1, -8.5, 3), Float64Array.of(1, -8, 2.75)), 0.0625);
});

test("another number of results is no agreement", () => {
  assert.equal(differenceOf(Float64Array.of(1), Float64Array.of(1, 1)), Number.POSITIVE_INFINITY);
});

test("a result that is no number is no agreement", () => {
  const difference = differenceOf(Float64Array.of(1, Number.NaN), Float64Array.of(1, 2));
  assert.ok(!(difference <= 1e300));
});
