// Checks gradients against finite differences of the loss.

import assert from "node:assert/strict";

/** Central difference of `loss` by one number of `values`, which is restored afterwards. */
function slopeAt(values: Float64Array, index: number, loss: () => number): number {
  const before = values[index];
  // Small, so that it rarely spans a corner of ReLU; its rounding error is about 1e-10 of the loss.
  const step = 1e-6;
  values[index] = before + step;
  const above = loss();
  values[index] = before - step;
  const below = loss();
  values[index] = before;
  return (above - below) / (2 * step);
}

/** Checks every number of `values`. */
export function assertGradient(
  name: string,
  values: Float64Array,
  gradient: Float64Array,
  loss: () => number,
): void {
  assert.equal(gradient.length, values.length, name);
  for (let i = 0; i < values.length; i++) {
    const expected = slopeAt(values, i, loss);
    const distance = Math.abs(gradient[i] - expected);
    assert.ok(
      distance <= 1e-7 * Math.max(1, Math.abs(expected)),
      `${name}[${i}] is ${gradient[i]}, by finite differences ${expected}`,
    );
  }
}
