import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { CellSpec } from "../../../../src/models/forecastnet/cells.ts";
import {
  biasCountOf,
  inputSizeOf,
  outputSizeOf,
  weightCountOf,
} from "../../../../src/models/forecastnet/layers.ts";
import {
  cellInputSize,
  type NetPlan,
  planNet,
  shortcutsOf,
} from "../../../../src/models/forecastnet/plan.ts";
import { specOf } from "../../../../src/models/forecastnet/spec.ts";
import { netCases } from "../../../golden/support/net-cases.ts";

const tiny: CellSpec = { kind: "dense", units: [2], activation: "relu" };
const conv: CellSpec = {
  kind: "conv",
  stages: [{ filters: 2, kernel: 2, padding: 0, pool: { size: 2, stride: 1 } }],
  units: 3,
  activation: "relu",
};

function placesOf(plan: NetPlan): (readonly [string, number, number])[][] {
  return plan.cells.map(({ layers, mean, deviation }) =>
    [...layers, mean, ...(deviation === null ? [] : [deviation])].map(
      (layer) => [layer.kind, layer.weightsAt, layer.biasesAt] as const,
    ),
  );
}

describe("the layout", () => {
  test("of a small Gaussian net, number by number", () => {
    const plan = planNet(specOf("FN", 2, { inputLength: 3, cell: tiny }));
    assert.deepEqual(placesOf(plan), [
      // 3 inputs → 2; μ and σ from 2
      [
        ["dense", 0, 6],
        ["dense", 8, 10],
        ["dense", 11, 13],
      ],
      // 3 + 2 + 1 inputs → 2
      [
        ["dense", 14, 26],
        ["dense", 28, 30],
        ["dense", 31, 33],
      ],
    ]);
    assert.equal(plan.weightCount, 34);
    assert.deepEqual(
      plan.cells.map(({ inputs, outputs }) => [inputs, outputs]),
      [
        [3, 2],
        [6, 2],
      ],
    );
  });

  test("of a linear output has no deviation", () => {
    const plan = planNet(specOf("FN2", 2, { inputLength: 3, cell: tiny }));
    assert.deepEqual(
      plan.cells.map(({ deviation }) => deviation),
      [null, null],
    );
    assert.equal(plan.weightCount, 34 - 6);
  });

  test("with a shortcut shows the mean the cell's input too, not the deviation", () => {
    const plan = planNet(specOf("FN", 2, { inputLength: 3, cell: tiny, shortcut: "linear" }));
    assert.deepEqual(
      plan.cells.map(({ mean, deviation }) => [mean.inputs, deviation?.inputs]),
      [
        [2 + 3, 2],
        [2 + 6, 2],
      ],
    );
    assert.equal(plan.weightCount, 34 + 3 + 6);
  });

  test("with channels and targets widens window, feedback and heads", () => {
    const plan = planNet(specOf("FN2", 2, { inputLength: 3, channels: 4, targets: [1, 3], cell: tiny }));
    assert.deepEqual([plan.windowSize, plan.targets], [12, 2]);
    assert.deepEqual(
      plan.cells.map(({ inputs, mean }) => [inputs, mean.outputs]),
      [
        [12, 2],
        [12 + 2 + 2, 2],
      ],
    );
  });

  test("of a convolutional cell after a dense one: a pool takes no place", () => {
    const plan = planNet(specOf("FN2", 2, { inputLength: 3, cell: tiny, overrides: { 1: conv } }));
    assert.deepEqual(placesOf(plan), [
      [
        ["dense", 0, 6],
        ["dense", 8, 10],
      ],
      // 6 inputs → 2 filters over 5 → pooled to 4 → 8 numbers → 3
      [
        ["conv", 11, 15],
        ["pool", 17, 17],
        ["dense", 17, 41],
        ["dense", 44, 47],
      ],
    ]);
    assert.equal(plan.weightCount, 48);
  });
});

describe("the weights of the shortcut", () => {
  test("are those of the mean on the cell's input, a stretch for each target of each cell", () => {
    const spec = specOf("FN", 2, {
      ...{ inputLength: 3, cell: tiny, shortcut: "linear" },
      ...{ channels: 2, targets: [0, 1] },
    });
    // Cell 0: 6·2 + 2 of the layer, then rows of 2 + 6 for the mean, 2 biases, 2·2 + 2 of the deviation.
    // Cell 1, from 38: 10·2 + 2 of the layer, then rows of 2 + 10.
    assert.deepEqual(shortcutsOf(planNet(spec)), [
      { from: 16, to: 22 },
      { from: 24, to: 30 },
      { from: 62, to: 72 },
      { from: 74, to: 84 },
    ]);
  });

  test("are none without a shortcut", () => {
    assert.deepEqual(shortcutsOf(planNet(specOf("FN", 2, { cell: tiny }))), []);
  });
});

describe("for every kind of net", () => {
  for (const { name, spec } of netCases) {
    test(`the places follow one another without gap or overlap: ${name}`, () => {
      const plan = planNet(spec);
      let end = 0;
      for (const { layers, mean, deviation } of plan.cells) {
        for (const layer of [...layers, mean, ...(deviation === null ? [] : [deviation])]) {
          assert.deepEqual([layer.weightsAt, layer.biasesAt], [end, end + weightCountOf(layer)]);
          end = layer.biasesAt + biasCountOf(layer);
        }
      }
      assert.equal(plan.weightCount, end);
    });

    test(`each layer takes what the one before it gives: ${name}`, () => {
      const plan = planNet(spec);
      for (const [h, { inputs, layers, outputs }] of plan.cells.entries()) {
        let size = inputs;
        for (const layer of layers) {
          assert.equal(inputSizeOf(layer), size);
          size = outputSizeOf(layer);
        }
        assert.equal(size, outputs);
        assert.equal(cellInputSize(spec, h), inputs);
      }
    });
  }
});
