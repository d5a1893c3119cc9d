import assert from "node:assert/strict";
import { test } from "node:test";
import { primitivePolynomials, sobolRanks } from "../../../../src/models/forecastnet/sobol.ts";

test("finds as many primitive polynomials of each degree as there are", () => {
  const counts = new Map<number, number>();
  for (const polynomial of primitivePolynomials(163)) {
    const degree = Math.floor(Math.log2(polynomial));
    counts.set(degree, (counts.get(degree) ?? 0) + 1);
  }
  // φ(2ⁿ − 1) / n for n = 1 … 10, and the first few of degree 10 that 163 leaves room for.
  assert.deepEqual(
    [...counts],
    [
      [1, 1],
      [2, 1],
      [3, 2],
      [4, 2],
      [5, 6],
      [6, 6],
      [7, 18],
      [8, 16],
      [9, 48],
      [10, 60],
      [11, 3],
    ],
  );
  assert.deepEqual(primitivePolynomials(6), [0b11, 0b111, 0b1011, 0b1101, 0b10011, 0b11001]);
});

for (const points of [1, 2, 100, 128]) {
  test(`the ranks of ${points} points are a permutation in every dimension`, () => {
    for (const ranks of sobolRanks(40, points, 5)) {
      assert.deepEqual(
        [...ranks].sort((a, b) => a - b),
        [...Array(points).keys()],
      );
    }
  });
}

test("any run of 2ᵏ points from a multiple of 2ᵏ fills every slice of a dimension", () => {
  for (const ranks of sobolRanks(40, 128, 5)) {
    for (let start = 0; start < 128; start += 8) {
      const slices = new Set([...ranks.subarray(start, start + 8)].map((rank) => rank >> 4));
      assert.equal(slices.size, 8);
    }
  }
});

test("the first two dimensions fill every box of equal area with one point, whatever its shape", () => {
  const [x, y] = sobolRanks(2, 64, 7);
  for (let split = 0; split <= 6; split++) {
    const boxes = new Set([...x].map((rank, n) => `${rank >> (6 - split)}/${y[n] >> split}`));
    assert.equal(boxes.size, 64, `${2 ** split} by ${2 ** (6 - split)}`);
  }
});

test("another seed scrambles otherwise", () => {
  assert.notDeepEqual(sobolRanks(3, 64, 1), sobolRanks(3, 64, 2));
  assert.deepEqual(sobolRanks(3, 64, 1), sobolRanks(3, 64, 1));
});
