// Packed weights are the same numbers in another order, and come back as they were.

import assert from "node:assert/strict";
import { test } from "node:test";
import { packWeights, unpackWeights } from "../../../../src/engine/simd/packing.ts";
import { planNet } from "../../../../src/models/forecastnet/plan.ts";
import { specOf } from "../../../../src/models/forecastnet/spec.ts";

const plan = planNet(
  specOf("FN", 2, { inputLength: 3, cell: { kind: "dense", units: [6, 5], activation: "relu" } }),
);
const weights = Float32Array.from({ length: plan.weightCount }, (_, i) => i);

test("rows come in groups of four, column by column; the rest stays row by row", () => {
  const packed = new Float32Array(plan.weightCount);
  packWeights(plan, weights, packed);
  // Six rows of three columns.
  assert.deepEqual(
    [...packed.subarray(0, 18)],
    [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11, 12, 13, 14, 15, 16, 17],
  );
});

test("packing loses nothing and adds nothing", () => {
  const packed = new Float32Array(plan.weightCount);
  packWeights(plan, weights, packed);
  assert.notDeepEqual(packed, weights);
  const back = new Float32Array(plan.weightCount);
  unpackWeights(plan, packed, back);
  assert.deepEqual(back, weights);
});
