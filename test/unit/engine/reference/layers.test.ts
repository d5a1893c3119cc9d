import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  activate,
  convBackward,
  convForward,
  denseBackward,
  denseForward,
  poolBackward,
  poolForward,
  slope,
} from "../../../../src/engine/reference/layers.ts";
import {
  type Activation,
  biasCountOf,
  type ConvLayer,
  type DenseLayer,
  inputSizeOf,
  type PoolLayer,
  weightCountOf,
} from "../../../../src/models/forecastnet/layers.ts";
import type { Placed } from "../../../../src/models/forecastnet/plan.ts";
import { createRandom } from "../../../../src/runtime/random.ts";
import { assertGradient } from "./gradient-check.ts";

const activations: readonly Activation[] = ["relu", "sigmoid", "linear"];

/** Placed inside a larger array, so that an ignored offset is detected. */
function placed<L extends DenseLayer | ConvLayer>(layer: L): Placed<L> {
  return { ...layer, weightsAt: 3, biasesAt: 3 + weightCountOf(layer) };
}

function normals(length: number, seed: number): Float64Array {
  return Float64Array.from({ length }, createRandom(seed).normal);
}

function dot(a: Float64Array, b: Float64Array): number {
  return a.reduce((sum, value, i) => sum + value * b[i], 0);
}

/** L = Σ r·y for random r: then dy = r, and the gradient of L is that of the layer. */
function checkLayer(
  layer: Placed<DenseLayer | ConvLayer>,
  forward: (weights: Float64Array, x: Float64Array) => Float64Array,
  backward: (
    weights: Float64Array,
    pass: { x: Float64Array; y: Float64Array; dy: Float64Array },
    gradient: Float64Array,
  ) => Float64Array,
): void {
  const weights = normals(layer.biasesAt + biasCountOf(layer) + 2, 1);
  const x = normals(inputSizeOf(layer), 2);
  const y = forward(weights, x);
  const dy = normals(y.length, 3);
  const loss = () => dot(forward(weights, x), dy);
  const gradient = new Float64Array(weights.length);
  const dx = backward(weights, { x, y, dy }, gradient);
  assertGradient("dw", weights, gradient, loss);
  assertGradient("dx", x, dx, loss);
  const twice = gradient.slice();
  backward(weights, { x, y, dy }, twice);
  const wrong = twice.findIndex((sum, i) => !(Math.abs(sum - 2 * gradient[i]) < 1e-12));
  assert.equal(wrong, -1, "backward adds to the gradient");
}

describe("activations", () => {
  test("have their known values", () => {
    assert.deepEqual(
      [-2, 0, 3].map((a) => activate("relu", a)),
      [0, 0, 3],
    );
    assert.deepEqual(
      [-2, 0, 3].map((a) => activate("linear", a)),
      [-2, 0, 3],
    );
    assert.equal(activate("sigmoid", 0), 0.5);
    assert.ok(Math.abs(activate("sigmoid", 2) - 0.8807970779778823) < 1e-15);
    assert.deepEqual([activate("sigmoid", 800), activate("sigmoid", -800)], [1, 0]);
  });

  test("ReLU has a slope of 0 at its corner, as in the authors' code", () => {
    assert.equal(slope("relu", activate("relu", 0)), 0);
  });
});

describe("the dense layer", () => {
  test("multiplies its weights by the input and adds the biases", () => {
    const layer: Placed<DenseLayer> = {
      kind: "dense",
      inputs: 3,
      outputs: 2,
      activation: "linear",
      weightsAt: 1,
      biasesAt: 7,
    };
    const weights = Float64Array.of(99, 1, 2, 3, 4, 5, 6, 10, 20, 99);
    assert.deepEqual(denseForward(layer, weights, Float64Array.of(1, 10, 100)), Float64Array.of(331, 674));
  });

  for (const activation of activations) {
    test(`has the gradient of finite differences, ${activation}`, () => {
      const layer = placed({ kind: "dense", inputs: 5, outputs: 4, activation });
      checkLayer(
        layer,
        (weights, x) => denseForward(layer, weights, x),
        (weights, pass, gradient) => denseBackward(layer, weights, pass, gradient),
      );
    });
  }
});

describe("the convolution", () => {
  test("covers every channel and uses zeros beyond the ends", () => {
    const layer = placed({
      kind: "conv",
      channels: 2,
      length: 3,
      filters: 1,
      kernel: 3,
      padding: 1,
      activation: "linear",
    });
    const weights = Float64Array.of(0, 0, 0, 1, 2, 3, 10, 20, 30, 0.5);
    const x = Float64Array.of(1, 2, 3, 1, 0, 0);
    assert.deepEqual(
      convForward(layer, weights, x),
      Float64Array.of(
        0.5 + (2 * 1 + 3 * 2) + 20 * 1,
        0.5 + (1 * 1 + 2 * 2 + 3 * 3) + 10 * 1,
        0.5 + (1 * 2 + 2 * 3),
      ),
    );
  });

  for (const activation of activations) {
    for (const [kernel, padding] of [
      [2, 0],
      [5, 2],
      [3, 3],
      [1, 0],
      [6, 0],
    ] as const) {
      test(`has the gradient of finite differences, ${activation}, kernel ${kernel}, padding ${padding}`, () => {
        const layer = placed({
          kind: "conv",
          channels: 2,
          length: 6,
          filters: 3,
          kernel,
          padding,
          activation,
        });
        checkLayer(
          layer,
          (weights, x) => convForward(layer, weights, x),
          (weights, pass, gradient) => convBackward(layer, weights, pass, gradient),
        );
      });
    }
  }
});

describe("the average pool", () => {
  test("averages whole windows and ignores the remainder", () => {
    const layer: PoolLayer = { kind: "pool", channels: 2, length: 5, size: 2, stride: 2 };
    const x = Float64Array.of(1, 3, 5, 7, 99, 2, 4, 6, 8, 99);
    assert.deepEqual(poolForward(layer, x), Float64Array.of(2, 6, 3, 7));
  });

  for (const [size, stride] of [
    [2, 1],
    [3, 2],
    [2, 3],
    [7, 1],
  ] as const) {
    test(`has the gradient of finite differences, size ${size}, stride ${stride}`, () => {
      const layer: PoolLayer = { kind: "pool", channels: 2, length: 7, size, stride };
      const x = normals(14, 4);
      const dy = normals(poolForward(layer, x).length, 5);
      assertGradient("dx", x, poolBackward(layer, dy), () => dot(poolForward(layer, x), dy));
    });
  }
});
