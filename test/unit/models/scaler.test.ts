import assert from "node:assert/strict";
import { test } from "node:test";
import { fitScaler } from "../../../src/models/scaler.ts";
import { ForecastnetError } from "../../../src/runtime/errors.ts";

test("brings each channel of the training part to mean 0 and deviation 1, and looks at nothing else", () => {
  const history = Float64Array.of(2, 10, 4, 30, 2, 10, 4, 30, 999, -999);
  assert.deepEqual(fitScaler(history, 2, 4), { offset: [3, 20], scale: [1, 10] });
});

test("leaves missing values out", () => {
  const history = Float64Array.of(Number.NaN, 5, Number.NaN, 8, Number.POSITIVE_INFINITY);
  assert.deepEqual(fitScaler(history, 1, 5), { offset: [6.5], scale: [1.5] });
});

test("gives a constant series a scale of 1", () => {
  assert.deepEqual(fitScaler(Float64Array.of(7, 7, 7), 1, 3), { offset: [7], scale: [1] });
  const almost = Float64Array.of(1e9, 1e9 * (1 + 1e-16), 1e9);
  assert.deepEqual(fitScaler(almost, 1, 3).scale, [1]);
});

test("refuses a channel without a value, and names it", () => {
  const history = Float64Array.of(1, Number.NaN, 2, Number.NaN);
  assert.throws(
    () => fitScaler(history, 2, 2),
    (error) =>
      error instanceof ForecastnetError &&
      error.code === "WINDOW_UNFIT" &&
      /channel 1 has no value in steps 0 to 1/.test(error.message),
  );
});
