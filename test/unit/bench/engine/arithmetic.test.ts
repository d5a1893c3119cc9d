// The counts that GFLOP/s are made of, against counts by hand for nets small enough to count.

import assert from "node:assert/strict";
import { test } from "node:test";
import { operationsOf } from "../../../../bench/engine/arithmetic.ts";
import type { Work } from "../../../../bench/engine/protocol.ts";
import type { CellSpec } from "../../../../src/models/forecastnet/cells.ts";
import { planNet } from "../../../../src/models/forecastnet/plan.ts";
import { specOf } from "../../../../src/models/forecastnet/spec.ts";

const dense: CellSpec = { kind: "dense", units: [3], activation: "relu" };
const conv: CellSpec = {
  kind: "conv",
  stages: [{ filters: 2, kernel: 3, padding: 1, pool: null }],
  units: 3,
  activation: "relu",
};

function forecastOf(cell: CellSpec, paths: number): Work {
  const plan = planNet(specOf("FN", 2, { cell }));
  return {
    ...{ kind: "forecast", name: "", plan, models: 1, paths },
    files: { weights: "", windows: "", noise: "" },
  };
}

function trainingOf(cell: CellSpec, batch: number): Work {
  const plan = planNet(specOf("FN", 2, { cell }));
  return {
    ...{ kind: "train", name: "", plan, models: 1, batch, learningRate: 0 },
    files: { weights: "", windows: "", targets: "" },
  };
}

test("a dense forecast counts the window once and what is fed back once a path", () => {
  // Cell 0, once: 4·3 + 2·3. Cell 1: the window 4·3 once; previous output 3 and sample 1, each ·3, and 2·3, a path.
  assert.equal(operationsOf(forecastOf(dense, 10)), 2 * (4 * 3 + 6 + (4 * 3 + 10 * (4 * 3 + 6))));
});

test("a convolution counts positions that see the window alone once", () => {
  // Cell 0: 4 positions · 2 filters · 3, dense 8·3, heads 6. Cell 1 has 8 positions, of which 0, 1 and 2 see the window.
  const first = 4 * 2 * 3 + 8 * 3 + 6;
  const second = 3 * 6 + 3 * 2 * 3 + 10 * (5 * 6 + 5 * 2 * 3 + 6);
  assert.equal(operationsOf(forecastOf(conv, 10)), 2 * (first + second));
});

test("a training step counts forward and both gradients, but none for the window and the targets", () => {
  // Cell 0: twice 4·3, three times the heads. Cell 1: of 8 inputs only the 3 of the previous cell learn.
  const perRow = 2 * 12 + 3 * 6 + (2 * 24 + 3 * 3 + 3 * 6);
  assert.equal(operationsOf(trainingOf(dense, 5)), 2 * 5 * perRow);
});
