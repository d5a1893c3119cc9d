import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { dot, solveRidge } from "../../../../src/models/regression/cholesky.ts";
import { createRandom } from "../../../../src/runtime/random.ts";

const random = createRandom(3);

/** A symmetric matrix of rank 2p, positive definite. */
function gramOf(size: number): Float64Array {
  const rows = Array.from({ length: 2 * size }, () =>
    Float64Array.from({ length: size }, () => random.normal()),
  );
  const gram = new Float64Array(size * size);
  for (const row of rows)
    for (let i = 0; i < size; i++)
      for (let j = 0; j < size; j++) gram[i * size + j] += (row[i] * row[j]) / rows.length;
  return gram;
}

describe("a ridge regression", () => {
  for (const size of [1, 2, 3, 4, 5, 7, 8, 13, 24, 33]) {
    test(`solves ${size} equations for any number of right-hand sides`, () => {
      const gram = gramOf(size);
      for (const outputs of [1, 3, 4, 6]) {
        const ridge = 0.01 * outputs;
        const wanted = Float64Array.from({ length: outputs * size }, () => random.normal());
        const solution = wanted.slice();
        solveRidge(gram, size, ridge, solution, outputs);
        for (let o = 0; o < outputs; o++) {
          for (let i = 0; i < size; i++) {
            const product = dot(gram, i * size, solution, o * size, size) + ridge * solution[o * size + i];
            assert.ok(
              Math.abs(product - wanted[o * size + i]) < 1e-9,
              `output ${o}, equation ${i}: ${product}`,
            );
          }
        }
      }
    });
  }

  test("gives finite numbers for inputs that are copies of one another", () => {
    const solution = new Float64Array(6).fill(1);
    solveRidge(new Float64Array(36).fill(1), 6, 0, solution, 1);
    assert.ok(solution.every(Number.isFinite), `the solution is ${solution}`);
  });
});
