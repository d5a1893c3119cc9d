import assert from "node:assert/strict";
import { test } from "node:test";
import { KeptForecasts } from "../../../../src/retrain/live/kept-forecasts.ts";

const shape = { horizon: 3, channels: 1, levels: 2, span: 5 };

const originsOf = (kept: KeptForecasts) => Array.from({ length: kept.rows }, (_, row) => kept.originOf(row));

/** Every number of a forecast tells its origin and its place in the stored order. */
const numbersOf = (kept: KeptForecasts, origin: number) => {
  const { horizon, channels, levels } = kept.shape;
  return Float32Array.from({ length: horizon * channels * levels }, (_, i) => origin + i / 1024);
};

function keepAll(kept: KeptForecasts, origins: readonly number[]): void {
  for (const origin of origins) {
    const row = kept.keep(origin, null);
    if (row < 0) continue;
    const outputs = kept.shape.horizon * kept.shape.channels;
    const raised = numbersOf(kept, origin).map((number) => number + 512);
    const stated = Array.from({ length: kept.shape.levels }, (_, l) => ({
      values: raised.subarray(l * outputs, (l + 1) * outputs),
    }));
    kept.write(row, stated, [512, 512]);
  }
}

function assertWhole(kept: KeptForecasts): void {
  for (const row of kept.filledRows()) {
    const numbers = numbersOf(kept, kept.originOf(row));
    const found = new Float32Array(numbers.length);
    kept.read(row, found);
    assert.deepEqual(found, numbers);
  }
}

test("a forecast stays until its origin has left the span, and its row is used again", () => {
  const kept = new KeptForecasts(shape);
  keepAll(kept, [-2, -1, 0, 1, 2]);
  assert.deepEqual(originsOf(kept), [-2, -1, 0, 1, 2]);
  keepAll(kept, [3, 4]);
  assert.deepEqual(originsOf(kept), [3, 4, 0, 1, 2]);
  assertWhole(kept);
});

test("origins that come rarely take few rows", () => {
  const kept = new KeptForecasts(shape);
  keepAll(kept, [0, 3, 6, 9, 12, 15]);
  assert.equal(kept.rows, 2);
});

test("memory grows with the rows and stops at the span", () => {
  const kept = new KeptForecasts({ horizon: 24, channels: 1, levels: 9, span: 30 });
  keepAll(kept, [0]);
  const young = kept.bytes;
  keepAll(
    kept,
    Array.from({ length: 500 }, (_, i) => i + 1),
  );
  assert.equal(kept.rows, 30);
  assert.ok(young < kept.bytes / 5);
  assert.equal(kept.bytes, 30 * (24 * 9 * 4 + 8));
  assertWhole(kept);
});

test("what all forecasts say of a slot lies side by side, channel after channel", () => {
  const kept = new KeptForecasts({ ...shape, channels: 2 });
  keepAll(kept, [-5, -4, -3]);
  const start = kept.startOf(-2);
  const ofRow = (row: number) => [
    ...kept.quantiles.subarray(start + row * kept.cell, start + (row + 1) * kept.cell),
  ];
  for (const [row, origin] of [-5, -4, -3].entries()) {
    const h = -2 - origin - 1;
    const stored = (level: number, channel: number) => origin + ((level * 2 + channel) * 3 + h) / 1024;
    assert.deepEqual(ofRow(row), [stored(0, 0), stored(1, 0), stored(0, 1), stored(1, 1)]);
  }
});

test("what was kept since it was last asked for is told once, each row once", () => {
  const kept = new KeptForecasts(shape);
  keepAll(kept, [0, 1]);
  assert.deepEqual(kept.takeChanged(), [0, 1]);
  assert.deepEqual(kept.takeChanged(), []);
  keepAll(kept, [2, 3, 4, 5, 6, 7, 8, 9, 10]);
  assert.deepEqual([...kept.takeChanged()].sort(), [0, 1, 2, 3, 4]);
});

test("the version of a forecast that does not count goes with its row", () => {
  const kept = new KeptForecasts({ ...shape, span: 2 });
  kept.keep(0, "cold-1");
  keepAll(kept, [1]);
  assert.deepEqual([kept.strangerAt(0), kept.strangerAt(1)], ["cold-1", null]);
  keepAll(kept, [2]);
  assert.equal(kept.strangerAt(0), null);
});

test("loaded into its rows in any order it goes on as it was", () => {
  const kept = new KeptForecasts(shape);
  keepAll(kept, [0, 1, 2, 4, 5, 6, 7]);
  const restored = new KeptForecasts(shape);
  for (let row = kept.rows - 1; row >= 0; row--) restored.load(row, kept.originOf(row), null);
  assert.deepEqual(restored.takeChanged(), []);
  kept.takeChanged();
  for (const one of [kept, restored]) keepAll(one, [8, 9]);
  assert.deepEqual(originsOf(restored), originsOf(kept));
  assert.deepEqual(restored.takeChanged(), kept.takeChanged());
});

test("a row left out when loading is empty and is used first", () => {
  const kept = new KeptForecasts(shape);
  kept.load(2, 10, null);
  assert.deepEqual(originsOf(kept), [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, 10]);
  assert.deepEqual(kept.filledRows(), [2]);
  keepAll(kept, [11]);
  assert.equal(kept.originOf(0), 11);
});

test("a long horizon keeps only every n-th origin, within half a megabyte", () => {
  const kept = new KeptForecasts({ horizon: 1000, channels: 1, levels: 9, span: 1006 });
  assert.ok(kept.stride > 1);
  keepAll(
    kept,
    Array.from({ length: 3000 }, (_, i) => i),
  );
  assert.ok(kept.bytes <= 520 * 1024, `${kept.bytes} bytes`);
  const origins = originsOf(kept).sort((a, b) => a - b);
  assert.ok(origins.length > 10 && origins[0] > 2999 - 1006 - kept.stride);
  for (let i = 1; i < origins.length; i++) assert.equal(origins[i] - origins[i - 1], kept.stride);
});

test("a single forecast larger than that is kept alone", () => {
  const kept = new KeptForecasts({ horizon: 10_000, channels: 8, levels: 9, span: 10_000 });
  assert.equal(kept.mostRows, 1);
  assert.ok(kept.bytes < 3 * 1024 * 1024);
});
