// Packing reorders weights, and unpacking restores them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { packWeights, partsOf, unpackWeights } from "../../../../src/engine/simd/packing.ts";
import { planNet } from "../../../../src/models/forecastnet/plan.ts";
import { specOf } from "../../../../src/models/forecastnet/spec.ts";

const plan = planNet(
  specOf("FN", 2, { inputLength: 3, cell: { kind: "dense", units: [6, 5], activation: "relu" } }),
);
const weights = Float32Array.from({ length: plan.weightCount }, (_, i) => i);

test("packed rows are in groups of four, column by column; the other rows keep their order", () => {
  const packed = new Float32Array(plan.weightCount);
  packWeights(plan, weights, packed);
  // Six rows of three columns.
  assert.deepEqual(
    [...packed.subarray(0, 18)],
    [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11, 12, 13, 14, 15, 16, 17],
  );
});

test("unpacking restores packed weights", () => {
  const packed = new Float32Array(plan.weightCount);
  packWeights(plan, weights, packed);
  assert.notDeepEqual(packed, weights);
  const back = new Float32Array(plan.weightCount);
  unpackWeights(plan, packed, back);
  assert.deepEqual(back, weights);
});

test("the parts of a packed net separate weights, shortcuts and biases", () => {
  const spec = specOf("FN", 2, {
    inputLength: 3,
    channels: 5,
    targets: [0, 1, 2, 3, 4],
    cell: { kind: "dense", units: [2], activation: "relu" },
    shortcut: "linear",
  });
  const wide = planNet(spec);
  const { mean, outputs } = wide.cells[1];
  const marks = new Float32Array(wide.weightCount);
  for (let row = 0; row < mean.outputs; row++) {
    const start = mean.weightsAt + row * mean.inputs;
    marks.fill(1, start + outputs, start + mean.inputs);
  }
  const packed = new Float32Array(wide.weightCount);
  packWeights(wide, marks, packed);
  const parts = partsOf(wide);
  for (const { kind, start, end } of parts.filter(
    ({ start }) => start >= wide.cells[1].layers[0].weightsAt,
  )) {
    assert.ok(packed.subarray(start, end).every((mark) => mark === (kind === "shortcut" ? 1 : 0)));
  }
  assert.equal(parts[0].start, 0);
  assert.ok(
    parts.every(({ start, end }, i) => end > start && end === (parts[i + 1]?.start ?? wide.weightCount)),
  );
  const biases = parts.filter(({ kind }) => kind === "biases");
  assert.deepEqual(
    biases.map(({ start, end }) => end - start),
    [2, 5, 5, 2, 5, 5],
  );
});
