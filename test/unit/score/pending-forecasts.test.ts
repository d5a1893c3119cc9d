import assert from "node:assert/strict";
import { test } from "node:test";
import { MaturedSlot, PendingForecasts } from "../../../src/score/pending-forecasts.ts";

const shape = { horizon: 3, channels: 1, levels: 2, span: 5 };

const originsOf = (pending: PendingForecasts) =>
  Array.from({ length: pending.rows }, (_, row) => pending.originOf(row));

/** Every number of a forecast encodes its origin and its index in the stored order. */
const numbersOf = (pending: PendingForecasts, origin: number) => {
  const { horizon, channels, levels } = pending.shape;
  return Float32Array.from({ length: horizon * channels * levels }, (_, i) => origin + i / 1024);
};

function addAll(pending: PendingForecasts, origins: readonly number[]): void {
  for (const origin of origins) {
    const row = pending.add(origin, null);
    if (row < 0) continue;
    const outputs = pending.shape.horizon * pending.shape.channels;
    const raised = numbersOf(pending, origin).map((number) => number + 512);
    const stated = Array.from({ length: pending.shape.levels }, (_, l) => ({
      values: raised.subarray(l * outputs, (l + 1) * outputs),
    }));
    pending.write(row, stated, [512, 512]);
  }
}

function assertWhole(pending: PendingForecasts): void {
  for (const row of pending.filledRows()) {
    const numbers = numbersOf(pending, pending.originOf(row));
    const found = new Float32Array(numbers.length);
    pending.read(row, found);
    assert.deepEqual(found, numbers);
  }
}

test("a forecast stays until its origin leaves the span, and then its row is reused", () => {
  const pending = new PendingForecasts(shape);
  addAll(pending, [-2, -1, 0, 1, 2]);
  assert.deepEqual(originsOf(pending), [-2, -1, 0, 1, 2]);
  addAll(pending, [3, 4]);
  assert.deepEqual(originsOf(pending), [3, 4, 0, 1, 2]);
  assertWhole(pending);
});

test("origins far apart need few rows", () => {
  const pending = new PendingForecasts(shape);
  addAll(pending, [0, 3, 6, 9, 12, 15]);
  assert.equal(pending.rows, 2);
});

test("memory grows with the rows and stops at the span", () => {
  const pending = new PendingForecasts({ horizon: 24, channels: 1, levels: 9, span: 30 });
  addAll(pending, [0]);
  const young = pending.bytes;
  addAll(
    pending,
    Array.from({ length: 500 }, (_, i) => i + 1),
  );
  assert.equal(pending.rows, 30);
  assert.ok(young < pending.bytes / 5);
  assert.equal(pending.bytes, 30 * (24 * 9 * 4 + 8));
  assertWhole(pending);
});

test("the numbers of all forecasts for one slot are side by side, channel after channel", () => {
  const pending = new PendingForecasts({ ...shape, channels: 2 });
  addAll(pending, [-5, -4, -3]);
  const start = pending.startOf(-2);
  const ofRow = (row: number) => [
    ...pending.quantiles.subarray(start + row * pending.cell, start + (row + 1) * pending.cell),
  ];
  for (const [row, origin] of [-5, -4, -3].entries()) {
    const h = -2 - origin - 1;
    const stored = (level: number, channel: number) => origin + ((level * 2 + channel) * 3 + h) / 1024;
    assert.deepEqual(ofRow(row), [stored(0, 0), stored(1, 0), stored(0, 1), stored(1, 1)]);
  }
});

test("takeChanged returns each row written since the last call once", () => {
  const pending = new PendingForecasts(shape);
  addAll(pending, [0, 1]);
  assert.deepEqual(pending.takeChanged(), [0, 1]);
  assert.deepEqual(pending.takeChanged(), []);
  addAll(pending, [2, 3, 4, 5, 6, 7, 8, 9, 10]);
  assert.deepEqual([...pending.takeChanged()].sort(), [0, 1, 2, 3, 4]);
});

test("the version of a forecast that does not count is dropped with its row", () => {
  const pending = new PendingForecasts({ ...shape, span: 2 });
  pending.add(0, "cold-1");
  addAll(pending, [1]);
  assert.deepEqual([pending.otherVersionAt(0), pending.otherVersionAt(1)], ["cold-1", null]);
  addAll(pending, [2]);
  assert.equal(pending.otherVersionAt(0), null);
});

test("rows loaded in any order continue like the original", () => {
  const pending = new PendingForecasts(shape);
  addAll(pending, [0, 1, 2, 4, 5, 6, 7]);
  const restored = new PendingForecasts(shape);
  for (let row = pending.rows - 1; row >= 0; row--) restored.load(row, pending.originOf(row), null);
  assert.deepEqual(restored.takeChanged(), []);
  pending.takeChanged();
  for (const one of [pending, restored]) addAll(one, [8, 9]);
  assert.deepEqual(originsOf(restored), originsOf(pending));
  assert.deepEqual(restored.takeChanged(), pending.takeChanged());
});

test("a row that was not loaded is empty and is used first", () => {
  const pending = new PendingForecasts(shape);
  pending.load(2, 10, null);
  assert.deepEqual(originsOf(pending), [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, 10]);
  assert.deepEqual(pending.filledRows(), [2]);
  addAll(pending, [11]);
  assert.equal(pending.originOf(0), 11);
});

test("a long horizon stores only every n-th origin, within half a megabyte", () => {
  const pending = new PendingForecasts({ horizon: 1000, channels: 1, levels: 9, span: 1006 });
  assert.ok(pending.stride > 1);
  addAll(
    pending,
    Array.from({ length: 3000 }, (_, i) => i),
  );
  assert.ok(pending.bytes <= 520 * 1024, `${pending.bytes} bytes`);
  const origins = originsOf(pending).sort((a, b) => a - b);
  assert.ok(origins.length > 10 && origins[0] > 2999 - 1006 - pending.stride);
  for (let i = 1; i < origins.length; i++) assert.equal(origins[i] - origins[i - 1], pending.stride);
});

test("a single forecast larger than half a megabyte is stored alone", () => {
  const pending = new PendingForecasts({ horizon: 10_000, channels: 8, levels: 9, span: 10_000 });
  assert.equal(pending.mostRows, 1);
  assert.ok(pending.bytes < 3 * 1024 * 1024);
});

test("a matured slot holds more forecasts than it first had room for", () => {
  const matured = new MaturedSlot();
  for (const count of [100, 3]) {
    matured.begin(new Float32Array(1), 2);
    for (let i = 0; i < count; i++) matured.push(i, 10 * i);
    assert.equal(matured.count, count);
    for (let i = 0; i < count; i++) assert.deepEqual([matured.steps[i], matured.starts[i]], [i, 10 * i]);
    assert.ok(matured.actuals.length >= 2);
  }
});
