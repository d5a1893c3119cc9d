// Finite differences: what a gradient must be, told from the loss alone.

import assert from "node:assert/strict";

/** Central difference of `loss` by one number of `values`, which is put back. */
export function slopeAt(values: Float64Array, index: number, loss: () => number): number {
  const kept = values[index];
  // Small, so that hardly a corner of ReLU lies within it; its rounding error is about 1e-10 of the loss.
  const step = 1e-6;
  values[index] = kept + step;
  const above = loss();
  values[index] = kept - step;
  const below = loss();
  values[index] = kept;
  return (above - below) / (2 * step);
}

/** Every number of `values` in turn. */
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
