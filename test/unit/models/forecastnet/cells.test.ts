import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cellKindNames, cellProblems, layersOf } from "../../../../src/models/forecastnet/cells.ts";
import { outputSizeOf } from "../../../../src/models/forecastnet/layers.ts";
import { forms } from "../../../../src/models/forecastnet/spec.ts";

const dense = { kind: "dense", units: [5, 3], activation: "relu" } as const;
const stage = { filters: 2, kernel: 3, padding: 1, pool: { size: 2, stride: 2 } } as const;
const conv = { kind: "conv", stages: [stage], units: 4, activation: "sigmoid" } as const;

describe("a cell becomes layers", () => {
  test("dense: one after the other", () => {
    assert.deepEqual(layersOf(dense, 7), [
      { kind: "dense", inputs: 7, outputs: 5, activation: "relu" },
      { kind: "dense", inputs: 5, outputs: 3, activation: "relu" },
    ]);
  });

  test("convolutional: each stage with its pool, then a dense layer over what is left", () => {
    const two = { ...conv, stages: [stage, { filters: 3, kernel: 2, padding: 0, pool: null }] };
    assert.deepEqual(layersOf(two, 9), [
      { kind: "conv", channels: 1, length: 9, filters: 2, kernel: 3, padding: 1, activation: "sigmoid" },
      { kind: "pool", channels: 2, length: 9, size: 2, stride: 2 },
      { kind: "conv", channels: 2, length: 4, filters: 3, kernel: 2, padding: 0, activation: "sigmoid" },
      { kind: "dense", inputs: 9, outputs: 4, activation: "sigmoid" },
    ]);
  });

  test("the paper's convolutional cell: four positions fewer, 24 numbers out", () => {
    const layers = layersOf(forms.cFN.cell, 40);
    assert.deepEqual(
      layers.map(({ kind }) => kind),
      ["conv", "pool", "conv", "pool", "dense"],
    );
    assert.deepEqual(layers.map(outputSizeOf), [24 * 39, 24 * 38, 24 * 37, 24 * 36, 24]);
  });

  for (const cell of [dense, conv]) {
    test(`every kind ends in a dense layer: ${cell.kind}`, () => {
      assert.equal(layersOf(cell, 12).at(-1)?.kind, "dense");
    });
  }
});

describe("a bad cell is told field by field", () => {
  const cases: readonly (readonly [name: string, cell: unknown, expected: readonly string[]])[] = [
    ["null", null, ["kind: missing in null; give an object with a kind"]],
    ["a list", [1], ["kind: missing in [1]; give an object with a kind"]],
    ["no kind", {}, ['kind: undefined; give "dense" or "conv"']],
    ["an unknown kind", { kind: "attention" }, ['kind: "attention"; give "dense" or "conv"']],
    ["a kind every object has", { kind: "toString" }, ['kind: "toString"; give "dense" or "conv"']],
    [
      "nothing but a kind, dense",
      { kind: "dense" },
      [
        'activation: undefined; give "relu" or "sigmoid" or "linear"',
        "units: undefined; give a list of one or more whole numbers above 0",
      ],
    ],
    ["no layers", { ...dense, units: [] }, ["units: []; give a list of one or more whole numbers above 0"]],
    [
      "layers of no or half a neuron",
      { ...dense, units: [5, 0, 1.5, "3"] },
      [
        "units[1]: 0; give a whole number of 1 or more",
        "units[2]: 1.5; give a whole number of 1 or more",
        'units[3]: "3"; give a whole number of 1 or more',
      ],
    ],
    [
      "an unknown activation",
      { ...conv, activation: "tanh" },
      ['activation: "tanh"; give "relu" or "sigmoid" or "linear"'],
    ],
    [
      "nothing but a kind, convolutional",
      { kind: "conv" },
      [
        'activation: undefined; give "relu" or "sigmoid" or "linear"',
        "units: undefined; give a whole number of 1 or more",
        "stages: undefined; give a list of one or more",
      ],
    ],
    ["no stages", { ...conv, stages: [] }, ["stages: []; give a list of one or more"]],
    [
      "a stage that is none",
      { ...conv, stages: [stage, null] },
      ["stages[1]: null; give filters, kernel, padding and pool"],
    ],
    [
      "every field of a stage",
      { ...conv, stages: [{ filters: 0, kernel: -1, padding: -1, pool: { size: 0, stride: 0.5 } }] },
      [
        "stages[0].filters: 0; give a whole number of 1 or more",
        "stages[0].kernel: -1; give a whole number of 1 or more",
        "stages[0].padding: -1; give a whole number of 0 or more",
        "stages[0].pool.size: 0; give a whole number of 1 or more",
        "stages[0].pool.stride: 0.5; give a whole number of 1 or more",
      ],
    ],
    [
      "a pool left out",
      { ...conv, stages: [{ filters: 1, kernel: 1, padding: 0 }] },
      ["stages[0].pool: undefined; give null, or size and stride"],
    ],
  ];
  for (const [name, cell, expected] of cases) {
    test(name, () => assert.deepEqual(cellProblems(cell, 12), expected));
  }

  test("a sequence of which nothing is left, and the shortest of which something is", () => {
    const nothing = ["stages: nothing is left of 3 inputs; use smaller kernels or pools"];
    const paper = forms.cFN.cell;
    assert.deepEqual(cellProblems(paper, 5), []);
    assert.match(cellProblems(paper, 4)[0], /nothing is left of 4 inputs/);
    assert.deepEqual(cellProblems({ ...conv, stages: [{ ...stage, kernel: 6 }] }, 3), nothing);
    assert.deepEqual(
      cellProblems({ ...conv, stages: [{ ...stage, pool: { size: 4, stride: 1 } }] }, 3),
      nothing,
    );
  });

  test("a stage that leaves nothing is found even when padding brings something back", () => {
    const revived = {
      ...conv,
      stages: [
        { ...stage, kernel: 6, pool: null },
        { ...stage, padding: 9 },
      ],
    };
    assert.match(cellProblems(revived, 3)[0], /nothing is left/);
  });

  test("a sound cell has no problem", () => {
    assert.deepEqual([...cellProblems(dense, 1), ...cellProblems(conv, 12)], []);
    assert.deepEqual(cellKindNames, ["dense", "conv"]);
  });
});
