import assert from "node:assert/strict";
import { test } from "node:test";
import { initialWeights } from "../../../../src/models/forecastnet/initial-weights.ts";
import { biasCountOf, type Layer, weightCountOf } from "../../../../src/models/forecastnet/layers.ts";
import { type Placed, planNet } from "../../../../src/models/forecastnet/plan.ts";
import { specOf } from "../../../../src/models/forecastnet/spec.ts";

function momentsOf(values: Float32Array): { mean: number; deviation: number } {
  const mean = values.reduce((sum, w) => sum + w, 0) / values.length;
  return { mean, deviation: Math.sqrt(values.reduce((sum, w) => sum + (w - mean) ** 2, 0) / values.length) };
}

function weightsOf(all: Float32Array, layer: Placed<Layer>): Float32Array {
  return all.subarray(layer.weightsAt, layer.weightsAt + weightCountOf(layer));
}

function assertDeviation(values: Float32Array, expected: number): void {
  const { mean, deviation } = momentsOf(values);
  // Four standard errors of each.
  const slack = 4 / Math.sqrt(values.length);
  assert.ok(Math.abs(mean) < slack * expected, `mean ${mean}`);
  assert.ok(Math.abs(deviation / expected - 1) < slack, `deviation ${deviation}, expected ${expected}`);
}

test("rectifiers begin with the variance of He: 2 over the inputs", () => {
  const plan = planNet(specOf("FN", 24));
  const weights = initialWeights(plan, 1);
  assertDeviation(weightsOf(weights, plan.cells[5].layers[0]), Math.sqrt(2 / (48 + 24 + 1)));
  const conv = planNet(specOf("cFN", 24));
  assertDeviation(weightsOf(initialWeights(conv, 1), conv.cells[0].layers[2]), Math.sqrt(2 / (24 * 2)));
});

test("sigmoid and linear layers begin with the variance of Xavier: 2 over inputs and outputs", () => {
  const cell = { kind: "dense", units: [40, 60], activation: "sigmoid" } as const;
  const plan = planNet(specOf("FN", 4, { cell }));
  const weights = initialWeights(plan, 1);
  assertDeviation(weightsOf(weights, plan.cells[1].layers[1]), Math.sqrt(2 / (40 + 60)));
  const wide = planNet(specOf("FN", 2, { cell: { kind: "dense", units: [900], activation: "relu" } }));
  const found = initialWeights(wide, 1);
  assertDeviation(weightsOf(found, wide.cells[1].mean), Math.sqrt(2 / 901));
});

test("biases begin at zero, and every weight is drawn", () => {
  const plan = planNet(specOf("cFN", 6));
  const weights = initialWeights(plan, 7);
  const isBias = new Uint8Array(plan.weightCount);
  for (const { layers, mean, deviation } of plan.cells) {
    for (const layer of [...layers, mean, ...(deviation === null ? [] : [deviation])]) {
      isBias.fill(1, layer.biasesAt, layer.biasesAt + biasCountOf(layer));
    }
  }
  weights.forEach((weight, i) => {
    assert.equal(weight === 0, isBias[i] === 1, `at ${i}`);
  });
});

test("the seed decides", () => {
  const plan = planNet(specOf("FN2", 3));
  assert.deepEqual(initialWeights(plan, 1), initialWeights(plan, 1));
  assert.notDeepEqual(initialWeights(plan, 1), initialWeights(plan, 2));
});
