import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { ExactValues } from "../../../src/window/exact-values.ts";
import { packedCount, packValues, unpackValues } from "../../../src/window/packed-values.ts";

const decimal = fc
  .tuple(fc.integer({ min: -3_000_000, max: 3_000_000 }), fc.integer({ min: 0, max: 12 }))
  .map(([units, decimals]) => Number(`${units}e-${decimals}`));
const large = fc
  .tuple(fc.maxSafeInteger(), fc.integer({ min: -5, max: 5 }))
  .map(([units, exponent]) => Number(`${units}e${exponent}`));

/** What sensors send and what they never should. Biased to kinds, so that one array holds few of them or many. */
const anyValue = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -400, max: 400 }).map((units) => units / 10) },
  { weight: 3, arbitrary: decimal },
  { weight: 2, arbitrary: fc.float({ noNaN: true }) },
  { weight: 2, arbitrary: fc.double({ noNaN: true }) },
  { weight: 2, arbitrary: large },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      ...[Number.NaN, -0, 0, Number.MIN_VALUE, -Number.MIN_VALUE, 2 ** -1030, Number.MAX_VALUE],
      ...[
        Number.POSITIVE_INFINITY,
        Number.NEGATIVE_INFINITY,
        2 ** 31,
        -(2 ** 31),
        2 ** 50 + 1,
        2 ** 53,
        1e22,
      ],
      ...[327.67, -327.68, 32_766, -32_766, 655.33, 0.1 + 0.2, Math.fround(0.1), 1e-12, 21.34],
    ),
  },
);
const values = fc.array(anyValue, { minLength: 1, maxLength: 64 });

function packed(numbers: readonly number[]) {
  return packValues(Float64Array.from(numbers), numbers.length);
}

function unpacked(record: ReturnType<typeof packed>): number[] {
  const target = new Float64Array(packedCount(record) ?? -1);
  unpackValues(record, target);
  return [...target];
}

function requireSame(found: readonly number[], expected: readonly number[]): void {
  for (const [i, value] of expected.entries())
    assert.ok(Object.is(found[i], value), `number ${i} is ${found[i]}, stored was ${value}`);
}

describe("an array of exact values", () => {
  const actions = fc.array(
    fc.oneof(
      { weight: 12, arbitrary: fc.record({ place: fc.nat(31), value: anyValue }) },
      { weight: 1, arbitrary: fc.record({ from: fc.nat(31), to: fc.nat(32) }) },
      { weight: 1, arbitrary: fc.record({ to: fc.constantFrom(0, 16) }) },
      { weight: 2, arbitrary: fc.record({ load: fc.array(anyValue, { maxLength: 16 }) }) },
    ),
    { maxLength: 200 },
  );

  test("gives back the same doubles as a plain array, whatever is put, cleared, moved and read in any order", () => {
    fc.assert(
      fc.property(actions, (steps) => {
        const exact = new ExactValues(32);
        const plain = new Float64Array(32).fill(Number.NaN);
        for (const step of steps) {
          if ("place" in step) {
            exact.set(step.place, step.value);
            plain[step.place] = step.value;
          } else if ("load" in step) {
            exact.load(7, Float64Array.from(step.load));
            plain.set(step.load, 7);
          } else if ("from" in step) {
            exact.clear(step.from, step.to);
            plain.fill(Number.NaN, step.from, step.to);
          } else {
            const upper = plain.slice(16);
            exact.resize(32, [{ from: 16, to: step.to, length: 16 }]);
            plain.fill(Number.NaN).set(upper, step.to);
          }
        }
        requireSame(
          Array.from(plain, (_, place) => exact.at(place)),
          [...plain],
        );
        const turned = new Float64Array(64).fill(7);
        const nans = exact.copy(5, 32, turned, 1, 2);
        requireSame([...turned.filter((_, i) => i % 2 === 1)], [...plain.slice(5), ...plain.slice(0, 5)]);
        assert.ok(turned.every((value, i) => i % 2 === 1 || value === 7));
        assert.equal(nans, plain.filter(Number.isNaN).length);
      }),
      { numRuns: 1000 },
    );
  });

  const bytesOf = (numbers: readonly number[]): number => {
    const exact = new ExactValues(numbers.length);
    for (const [place, value] of numbers.entries()) exact.set(place, value);
    return exact.bytes / numbers.length;
  };
  const steps = Array.from({ length: 1000 }, (_, i) => i);
  const wave = steps.map((i) => 20 + 5 * Math.sin(i / 4));

  test("takes as many bytes a number as its numbers need", () => {
    const rounded = (decimals: number) => wave.map((value) => Number(value.toFixed(decimals)));
    assert.equal(bytesOf(rounded(0)), 2);
    assert.equal(bytesOf(rounded(2)), 2);
    assert.equal(bytesOf(rounded(3)), 2);
    assert.equal(bytesOf(rounded(5)), 4);
    assert.equal(bytesOf(wave.map((value) => Number((101_325 + value).toFixed(2)))), 2, "a base of its own");
    assert.equal(bytesOf(steps.map((i) => 1e6 + i * 2.25)), 4, "a meter that counts");
    assert.equal(bytesOf(wave.map(Math.fround)), 4);
    assert.equal(bytesOf(wave), 8);
    assert.equal(bytesOf([...rounded(2).slice(1), -0]), 2, "minus zero has a code");
    assert.equal(bytesOf(steps.map((i) => (i % 3 === 0 ? Number.NaN : i))), 2);
  });

  test("a drifting series stays narrow as long as what it holds fits", () => {
    const exact = new ExactValues(100);
    for (let i = 0; i < 100_000; i++) {
      exact.set(i % 100, i);
      assert.equal(exact.at(i % 100), i);
    }
    assert.equal(exact.bytes, 200);
  });
});

describe("packed values", () => {
  test("give back the same doubles", () => {
    fc.assert(
      fc.property(values, (numbers) => requireSame(unpacked(packed(numbers)), numbers)),
      { numRuns: 3000 },
    );
  });

  test("have one form, whatever the order of the numbers", () => {
    fc.assert(
      fc.property(values, (numbers) => {
        const { codes: _, ...form } = packed(numbers);
        const { codes: __, ...reversed } = packed(numbers.toReversed());
        assert.deepEqual(reversed, form);
      }),
      { numRuns: 1000 },
    );
  });

  test("take the narrowest form", () => {
    const formOf = (...numbers: readonly number[]) => {
      const { form, decimals, base } = packed(numbers);
      return [form, decimals, base];
    };
    assert.deepEqual(formOf(20.5, 21.25, 19), ["INT8", 2, 2012]);
    assert.deepEqual(formOf(1000, 1253), ["INT8", 0, 1126]);
    assert.deepEqual(formOf(1000, 1254), ["INT16", 0, 1127]);
    assert.deepEqual(formOf(0, 65_533), ["INT16", 0, 32_766]);
    assert.deepEqual(formOf(0, 65_534), ["INT32", 0, 32_767]);
    assert.deepEqual(formOf(0, 2 ** 32 - 3)[0], "INT32");
    assert.deepEqual(formOf(0, 2 ** 32 - 2), ["FLOAT64", 0, 0]);
    assert.deepEqual(formOf(Math.fround(0.1), 0.5), ["FLOAT32", 0, 0]);
    assert.deepEqual(formOf(Math.fround(0.1), 0.1), ["FLOAT64", 0, 0]);
    assert.deepEqual(formOf(-0, Number.NaN), ["INT8", 0, 0]);
    assert.deepEqual(formOf(3e-12), ["INT8", 12, 3]);
  });

  test("with decimals or a length that no form has are found out", () => {
    const record = packed([1.5, 2.5]);
    assert.equal(packedCount(record), 2);
    assert.equal(packedCount({ ...record, form: "INT32" }), null);
    assert.equal(packedCount({ ...record, decimals: 13 }), null);
    assert.equal(packedCount({ ...record, decimals: -1 }), null);
    assert.equal(packedCount({ ...packed([Math.PI]), decimals: 1 }), null);
  });
});
