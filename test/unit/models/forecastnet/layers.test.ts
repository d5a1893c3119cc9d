import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  biasCountOf,
  type ConvLayer,
  type DenseLayer,
  fanInOf,
  inputSizeOf,
  outputLengthOf,
  outputSizeOf,
  type PoolLayer,
  weightCountOf,
} from "../../../../src/models/forecastnet/layers.ts";

const dense: DenseLayer = { kind: "dense", inputs: 7, outputs: 3, activation: "relu" };
const conv: ConvLayer = {
  kind: "conv",
  channels: 2,
  length: 9,
  filters: 5,
  kernel: 4,
  padding: 1,
  activation: "relu",
};
const pool: PoolLayer = { kind: "pool", channels: 5, length: 8, size: 3, stride: 2 };

describe("a layer counts", () => {
  test("its inputs and outputs", () => {
    assert.deepEqual([dense, conv, pool].map(inputSizeOf), [7, 18, 40]);
    assert.deepEqual([dense, conv, pool].map(outputSizeOf), [3, 5 * 8, 5 * 3]);
  });

  test("its weights and biases; a pool has none", () => {
    assert.deepEqual([dense, conv, pool].map(weightCountOf), [21, 5 * 2 * 4, 0]);
    assert.deepEqual([dense, conv, pool].map(biasCountOf), [3, 5, 0]);
  });

  test("the inputs one of its outputs sums over", () => {
    assert.deepEqual([dense, conv].map(fanInOf), [7, 8]);
  });
});

describe("a sequence shrinks", () => {
  test("by the kernel less one, and grows by its padding on both sides", () => {
    const lengthWith = (kernel: number, padding: number) => outputLengthOf({ ...conv, kernel, padding });
    assert.deepEqual([lengthWith(2, 0), lengthWith(5, 2), lengthWith(3, 1), lengthWith(9, 0)], [8, 9, 9, 1]);
  });

  test("to the whole windows that a pool finds in it", () => {
    const lengthWith = (size: number, stride: number) => outputLengthOf({ ...pool, size, stride });
    assert.deepEqual([lengthWith(2, 1), lengthWith(2, 2), lengthWith(3, 3), lengthWith(8, 5)], [7, 4, 2, 1]);
  });
});
