// The calibrator against the plain one, number by number: with quantiles in and out of order, ties, flat and huge
// values, and several channels.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Calibrator, type CalibratorShape } from "../../../src/score/calibrator.ts";
import { MaturedSlot } from "../../../src/score/matured-slot.ts";
import { LEVELS } from "./calibrator-story.ts";
import { PlainCalibrator } from "./plain-calibrator.ts";

const anyLevels = fc.oneof(
  fc.constantFrom(LEVELS, [0.5], [0.4, 0.6], [0.1, 0.2], [0.6, 0.8, 0.95], [0.5, 0.9], [0.1, 0.5]),
  fc
    .uniqueArray(fc.integer({ min: 1, max: 99 }), { minLength: 1, maxLength: 9 })
    .map((percents) => percents.sort((a, b) => a - b).map((percent) => percent / 100)),
);
/** Few different ones, so that quantiles and observations tie; sometimes one beyond all bounds. */
const anyNumber = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: -6, max: 6 }) },
  { weight: 6, arbitrary: fc.double({ noNaN: true, min: -8, max: 8 }) },
  { weight: 1, arbitrary: fc.constantFrom(3.4e38, -3.4e38, 1e300, -1e300, 1e-40) },
);
const anyShape = fc
  .record({
    levels: anyLevels,
    channels: fc.integer({ min: 1, max: 3 }),
    horizon: fc.integer({ min: 1, max: 4 }),
  })
  .map((shape) => ({ ...shape, scale: [1, 0.25, 30].slice(0, shape.channels) }));
type Shape = CalibratorShape & { readonly levels: readonly number[] };

/** One slot: raw quantiles of a new forecast, mostly in order, and the observation of each channel. */
const anySlot = fc.record({
  numbers: fc.array(anyNumber, { minLength: 30, maxLength: 30 }),
  isSorted: fc.oneof({ weight: 5, arbitrary: fc.constant(true) }, fc.constant(false)),
  actuals: fc.array(anyNumber, { minLength: 3, maxLength: 3 }),
});
type Slot = typeof anySlot extends fc.Arbitrary<infer T> ? T : never;

function rawOf({ levels, channels, horizon }: Shape, { numbers, isSorted }: Slot): number[][] {
  const columns = Array.from({ length: channels * horizon }, (_, o) => {
    const column = levels.map((_, l) => numbers[(7 * o + l) % numbers.length]);
    return isSorted ? column.sort((a, b) => a - b) : column;
  });
  return levels.map((_, l) => columns.map((column) => column[l]));
}

const bounded = (number: number) => Math.max(-3.4e38, Math.min(3.4e38, number));

/** Ignores the sign of zero. */
const plainly = (numbers: ArrayLike<number>) => Array.from(numbers, (number) => number + 0);

/** Forecasts at every slot, and learns from every slot in all forecasts that cover it, newest first. */
function compare(shape: Shape, slots: readonly Slot[]): number {
  const { levels, channels, horizon } = shape;
  const [real, plain] = [new Calibrator(shape), new PlainCalibrator(shape)];
  const outputs = channels * horizon;
  const stated: Float32Array[] = [];
  const matured = new MaturedSlot();
  let updates = 0;
  for (const [t, slot] of slots.entries()) {
    const seen = stated.slice(-horizon).reverse();
    const quantiles = Float32Array.from(
      seen.flatMap((own, h) =>
        Array.from({ length: channels * levels.length }, (_, i) => {
          const [c, l] = [Math.floor(i / levels.length), i % levels.length];
          return own[l * outputs + c * horizon + h];
        }),
      ),
    );
    matured.begin(channels, levels.length);
    const cell = channels * levels.length;
    for (const h of seen.keys()) {
      matured.add(h, quantiles.subarray(h * cell, (h + 1) * cell));
      for (let c = 0; c < channels; c++) {
        const from = h * cell + c * levels.length;
        const own = quantiles.slice(from, from + levels.length);
        const actual = bounded(slot.actuals[c]);
        plain.learn(c * horizon + h, actual, own);
        updates++;
      }
    }
    for (let c = 0; c < channels; c++) matured.observe(c, Math.fround(bounded(slot.actuals[c])));
    real.learnSlot(matured);
    assert.deepEqual(plainly(real.state), plainly(plain.state), `state after slot ${t}`);
    const raw = rawOf(shape, slot);
    const own = new Float32Array(levels.length * outputs);
    real.correct(raw, own);
    assert.deepEqual(plainly(own), plainly(plain.correct(raw)), `forecast at slot ${t}`);
    // Before the first update a forecast is stated as it is, in order or not.
    stated.push(slot.isSorted ? own : Float32Array.from(raw.flat(), bounded));
  }
  assert.equal(real.learntSteps, updates);
  return updates;
}

test("the calibrator equals the plain one when it learns from all forecasts of a slot at once", () => {
  let updates = 0;
  fc.assert(
    fc.property(anyShape, fc.array(anySlot, { minLength: 2, maxLength: 40, size: "max" }), (shape, slots) => {
      updates += compare(shape, slots);
    }),
    { numRuns: 300 },
  );
  assert.ok(updates > 10_000, `only ${updates} updates were compared`);
});
