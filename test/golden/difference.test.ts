// The measure of differences tolerates rounding and detects errors.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { differentiateNet } from "../../src/engine/reference/reference-executor.ts";
import { specOf } from "../../src/models/forecastnet/spec.ts";
import { assertWithin, differenceOf, gradientDifference, lossDifference } from "./support/difference.ts";
import { seededNet, seededRows } from "./support/seeded-net.ts";

describe("the difference of two tensors", () => {
  test("is relative to a number's own size, or to the root mean square where that is larger", () => {
    assert.equal(differenceOf("t", [11, 0], [10, 0]).size, 0.1);
    assert.equal(differenceOf("t", [3, 4.5, 0.1], [3, 4.5, 0]).size, 0.1 / Math.sqrt((9 + 4.5 ** 2) / 3));
    assert.equal(differenceOf("t", [0, 0], [0, 0]).size, 0);
  });

  test("names the place where it is largest", () => {
    assert.equal(differenceOf("mean", [1, 2.5, 3.1], [1, 2, 3]).where, "mean[1]: 2.5, not 2");
  });

  test("is infinite for a wrong length, for NaN, and for a number other than zero where all are zero", () => {
    for (const actual of [[1], [1, 2, 3], [1, Number.NaN], [1, Infinity]]) {
      assert.equal(differenceOf("t", actual, [1, 2]).size, Infinity);
    }
    assert.equal(differenceOf("t", [1e-30], [0]).size, Infinity);
    assert.equal(differenceOf("t", [1, 2], [1, Number.NaN]).size, Infinity);
  });

  test("tolerates the rounding of the expected numbers, and no more", () => {
    assert.equal(differenceOf("t", [1.5, 2], [1, 2], 0.5).size, 0);
    assert.ok(differenceOf("t", [1.75, 2], [1, 2], 0.5).size > 0.1);
  });

  test("of losses is in nats below one nat, and relative for squared errors", () => {
    assert.equal(lossDifference("gaussian", "loss", [0.25], [0.125]).size, 0.125);
    assert.equal(lossDifference("gaussian", "loss", [-5], [-4]).size, 0.25);
    assert.equal(lossDifference("linear", "loss", [0.25], [0.125]).size, 1);
    assert.equal(lossDifference("gaussian", "loss", [Number.NaN], [1]).size, Infinity);
  });

  test("fails above the tolerance, and the error names the place", () => {
    assert.throws(() => assertWithin(1e-4, [{ size: 2e-4, where: "loss" }]), /loss differs by 2\.0e-4/);
    assert.equal(assertWithin(1e-4, [{ size: 1e-5, where: "loss" }]).size, 1e-5);
  });
});

test("one derivative that is wrong by a thousandth of its layer is detected, in every layer", () => {
  const { plan, weights } = seededNet(specOf("cFN", 4), 1);
  const { gradient } = differentiateNet(plan, weights, seededRows(plan, 3, 2));
  assert.equal(gradientDifference(plan, gradient, gradient).size, 0);
  for (const { layers, mean, deviation } of plan.cells) {
    for (const layer of [...layers, mean, ...(deviation === null ? [] : [deviation])]) {
      if (layer.kind === "pool") continue;
      for (const at of [layer.weightsAt, layer.biasesAt - 1, layer.biasesAt]) {
        const wrong = gradient.slice();
        const largest = Math.max(...gradient.subarray(layer.weightsAt, layer.biasesAt + 1).map(Math.abs));
        wrong[at] += 1e-3 * largest;
        assert.ok(gradientDifference(plan, wrong, gradient).size > 0.9e-3, `weight ${at}`);
      }
    }
  }
});
