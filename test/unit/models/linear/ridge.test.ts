import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { RidgeSums } from "../../../../src/models/linear/ridge.ts";
import { createRandom } from "../../../../src/runtime/random.ts";

/** y = 3 + 2·x₀ − x₁, and twice that. */
function sumsOfAPlane(rows: number): RidgeSums {
  const random = createRandom(7);
  const sums = new RidgeSums(2, 2);
  for (let row = 0; row < rows; row++) {
    const x = Float32Array.of(random.normal() + 5, random.normal());
    const y = 3 + 2 * x[0] - x[1];
    sums.add(x, Float32Array.of(y, 2 * y));
  }
  return sums;
}

describe("ridge regression", () => {
  test("finds the plane that the rows lie on, and its constant", () => {
    const sums = sumsOfAPlane(200);
    const map = sums.solve(1e-9);
    const expected = [2, 4, -1, -2];
    for (const [i, value] of expected.entries())
      assert.ok(Math.abs(map[i] - value) < 1e-4, `map[${i}] is ${map[i]}`);
    const constant = sums.constantOf(map);
    assert.ok(Math.abs(constant[0] - 3) < 1e-3, `constant is ${constant[0]}`);
  });

  test("shrinks towards nothing as the penalty grows", () => {
    const sums = sumsOfAPlane(200);
    const sizes = [1e-3, 1, 1e3].map((penalty) => Math.abs(sums.solve(penalty)[0]));
    assert.ok(sizes[0] > sizes[1] && sizes[1] > sizes[2], `sizes ${sizes.join(", ")}`);
    assert.ok(sizes[2] < 0.01);
  });

  test("gives finite numbers for inputs that never move or repeat one another", () => {
    const sums = new RidgeSums(3, 1);
    for (let row = 0; row < 20; row++) sums.add(Float32Array.of(1, row, row), Float32Array.of(row));
    const map = sums.solve(1e-4);
    assert.ok(map.every(Number.isFinite));
    assert.ok(Math.abs(map[1] + map[2] - 1) < 1e-2, "the two equal inputs share the slope");
  });
});
