import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { RidgeSums } from "../../../../../src/models/forecastnet/training/ridge.ts";
import { createRandom } from "../../../../../src/runtime/random.ts";

/** y = 3 + 2·x₀ − x₁, and twice that. */
function sumsOfAPlane(rows: number): RidgeSums {
  const random = createRandom(7);
  const x = Float32Array.from({ length: 2 * rows }, (_, i) => random.normal() + (i % 2 === 0 ? 5 : 0));
  const y = Float32Array.from({ length: 2 * rows }, (_, i) => {
    const row = i - (i % 2);
    return (1 + (i % 2)) * (3 + 2 * x[row] - x[row + 1]);
  });
  const sums = new RidgeSums(2, 2);
  // In parts that are no multiples of the rows added at a time.
  sums.add(x, y, 0, 51);
  sums.add(x, y, 51, rows);
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
    const x = Float32Array.from({ length: 60 }, (_, i) => (i % 3 === 0 ? 1 : Math.floor(i / 3)));
    sums.add(
      x,
      Float32Array.from({ length: 20 }, (_, row) => row),
      0,
      20,
    );
    const map = sums.solve(1e-4);
    assert.ok(map.every(Number.isFinite));
    assert.ok(Math.abs(map[1] + map[2] - 1) < 1e-2, "the two equal inputs share the slope");
  });
});
