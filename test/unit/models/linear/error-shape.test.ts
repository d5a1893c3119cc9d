import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { errorShapeOf, quantileOf } from "../../../../src/models/linear/error-shape.ts";
import { createRandom } from "../../../../src/runtime/random.ts";

const many = { channels: 1, spans: 1e9 };

describe("the shape of errors", () => {
  test("is that of all steps together, and each step has its own spread", () => {
    const random = createRandom(1);
    const steps = [1, 3, 9].map((size) => Array.from({ length: 4_000 }, () => size * random.normal()));
    const { spread, shape } = errorShapeOf(steps, many);
    const ninth = quantileOf(shape, 0.9);
    // Mean distance of a normal number from its median: √(2/π). Neighbouring steps are averaged.
    const unit = Math.sqrt(2 / Math.PI);
    assert.ok(Math.abs(spread[0] / (2 * unit) - 1) < 0.05, `spread of the first step: ${spread[0]}`);
    assert.ok(Math.abs(spread[2] / (6 * unit) - 1) < 0.05, `spread of the last step: ${spread[2]}`);
    assert.ok(ninth > 1 && ninth < 2.5, `its ninth decile is ${ninth}`);
    assert.ok(Math.abs(quantileOf(shape, 0.5)) < 0.05, "its median is that of the model");
  });

  test("keeps skew", () => {
    const random = createRandom(2);
    const skewed = [Array.from({ length: 4_000 }, () => -Math.log(random.uniform()))];
    const { shape } = errorShapeOf(skewed, many);
    assert.ok(quantileOf(shape, 0.95) > -2 * quantileOf(shape, 0.05), "the upper tail is the longer one");
  });

  test("is wider the less there was to judge on", () => {
    const errors = [[-2, -1, 0, 1, 2]];
    const widths = [1, 4, 100].map((spans) =>
      quantileOf(errorShapeOf(errors, { channels: 1, spans }).shape, 0.9),
    );
    assert.ok(widths[0] > widths[1] && widths[1] > widths[2], `widths ${widths.join(", ")}`);
  });

  test("takes the widest spread for a step without an observed value, and none for errors that are all zero", () => {
    const { spread, shape } = errorShapeOf([[0, 0], [], [], [], [-4, 4]], many);
    assert.ok(spread[2] > 0 && spread[2] === Math.max(...spread), `spreads ${spread.join(", ")}`);
    assert.ok(shape.every(Number.isFinite));
    const flat = errorShapeOf([[0, 0, 0]], many);
    assert.deepEqual([flat.spread[0], ...new Set(flat.shape)], [0, 0]);
  });
});
