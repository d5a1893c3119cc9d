import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { fromFloat16, largestFloat16, toFloat16 } from "../../../src/models/model-envelope.ts";

test("every half-precision number comes back as itself", () => {
  for (let half = 0; half < 0x10000; half++) {
    const value = fromFloat16(half);
    if (Number.isNaN(value)) assert.ok(Number.isNaN(fromFloat16(toFloat16(value))));
    else assert.equal(toFloat16(value), half, `${half.toString(16)} is ${value}`);
  }
});

test("known numbers have their known bits", () => {
  const known: readonly (readonly [number, number])[] = [
    [0, 0x0000],
    [1, 0x3c00],
    [-2, 0xc000],
    [1 / 3, 0x3555],
    [largestFloat16, 0x7bff],
    [2 ** -14, 0x0400],
    [2 ** -24, 0x0001],
    [2 ** -26, 0x0000],
    [65520, 0x7c00],
    [1e9, 0x7c00],
    [Number.NEGATIVE_INFINITY, 0xfc00],
  ];
  for (const [value, half] of known) assert.equal(toFloat16(value), half, `${value}`);
});

test("a tie goes to the even neighbour", () => {
  assert.equal(toFloat16(1 + 2 ** -11), 0x3c00);
  assert.equal(toFloat16(1 + 3 * 2 ** -11), 0x3c02);
  assert.equal(toFloat16(1.5 * 2 ** -24), 0x0002);
  assert.equal(toFloat16(2 ** -25), 0x0000);
});

test("any number in range is stored to half a unit of its last digit", () => {
  fc.assert(
    fc.property(fc.float({ min: -65504, max: 65504, noNaN: true }), (value) => {
      const error = Math.abs(fromFloat16(toFloat16(value)) - value);
      assert.ok(error <= Math.max(Math.abs(value) * 2 ** -11, 2 ** -25));
    }),
    { numRuns: 2000, seed: 3 },
  );
});
