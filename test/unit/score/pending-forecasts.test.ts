import assert from "node:assert/strict";
import { test } from "node:test";
import { MaturedSlot } from "../../../src/score/matured-slot.ts";
import {
  PendingForecasts,
  type PendingRow,
  type PendingShape,
} from "../../../src/score/pending-forecasts.ts";

const shape: PendingShape = { horizon: 3, channels: 1, levels: 2, grace: 2 };

/** What a forecast states: exact in codes, and different for every origin, level, channel and step. */
const stated = (origin: number, level: number, channel: number, step: number) =>
  origin + level * 100 + channel / 4 + step / 8;

function statedRows({ horizon, channels, levels }: PendingShape, origin: number) {
  return Array.from({ length: levels }, (_, l) => ({
    values: Float64Array.from(
      { length: channels * horizon },
      (_, o) => 512 + stated(origin, l, Math.floor(o / horizon), o % horizon),
    ),
  }));
}

function add(pending: PendingForecasts, origin: number, otherVersion: string | null = null): number {
  const base = new Array<number>(pending.shape.channels).fill(512);
  return pending.add(origin, statedRows(pending.shape, origin), base, otherVersion);
}

const addAll = (pending: PendingForecasts, origins: readonly number[]) =>
  origins.map((origin) => add(pending, origin));

/** The origins whose forecasts cover the slot, each checked number by number. */
function originsBehind(pending: PendingForecasts, slot: number): number[] {
  const matured = new MaturedSlot();
  pending.lookBack(slot, matured);
  const { channels, levels } = pending.shape;
  return Array.from({ length: matured.count }, (_, i) => {
    const step = matured.steps[i];
    const origin = slot - step - 1;
    for (let c = 0; c < channels; c++) {
      for (let l = 0; l < levels; l++)
        assert.equal(matured.quantiles[(i * channels + c) * levels + l], stated(origin, l, c, step));
    }
    return origin;
  });
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

function copy(row: PendingRow | null): PendingRow {
  assert.ok(row !== null);
  return { ...row, scales: row.scales.slice(), codes: row.codes.slice() };
}

test("a slot finds every forecast that covers it, nearest first, until it is `grace` slots old", () => {
  for (const channels of [1, 2]) {
    const pending = new PendingForecasts({ ...shape, channels });
    for (const origin of range(-7, 9)) {
      add(pending, origin);
      for (const slot of [origin + 1, origin + 2, origin + 3, origin, origin - 1]) {
        const covering = range(slot - 3, Math.min(origin, slot - 1)).filter((o) => o >= -7);
        assert.deepEqual(originsBehind(pending, slot), covering.reverse(), `slot ${slot} after ${origin}`);
      }
      assert.deepEqual(originsBehind(pending, origin - 2), []);
    }
  }
});

test("origins with gaps between them find the same", () => {
  const pending = new PendingForecasts(shape);
  addAll(pending, [0, 2, 3, 30, 31]);
  assert.deepEqual(originsBehind(pending, 32), [31, 30]);
  assert.deepEqual(originsBehind(pending, 5), []);
});

test("a forecast takes the row of the one that is horizon and grace older", () => {
  const pending = new PendingForecasts(shape);
  const rows = addAll(pending, range(-2, 8));
  assert.equal(pending.rows, 5);
  assert.equal(new Set(rows.slice(0, 5)).size, 5);
  for (let i = 5; i < rows.length; i++) assert.equal(rows[i], rows[i - 5]);
  assert.equal(pending.originOf(rows[8]), 6);
  assert.equal(pending.rowOf(6), rows[8]);
});

test("an origin that is not newer is not stored", () => {
  const pending = new PendingForecasts(shape);
  assert.ok(add(pending, 5) >= 0);
  assert.deepEqual(addAll(pending, [5, 4]), [-1, -1]);
});

test("memory at the defaults stays below nine kilobytes", () => {
  const { bytes } = new PendingForecasts({ horizon: 24, channels: 1, levels: 9, grace: 6 });
  assert.equal(bytes, (300 + 24 * 6) * 18 + 30 * 24);
  assert.ok(bytes < 9_000);
});

test("numbers are stored to a 32,000th of the range of their forecast, whatever their level", () => {
  const pending = new PendingForecasts({ horizon: 2, channels: 1, levels: 3, grace: 0 });
  const matured = new MaturedSlot();
  for (const [origin, scale] of [1e-30, 0.001, 1, 1e6, 1e30].entries()) {
    const rows = [
      [0.1, -0.21],
      [0.35, 0.333],
      [0.77, 0.9],
    ];
    pending.add(
      origin,
      rows.map((row) => ({ values: row.map((x) => x * scale) })),
      [0.5 * scale],
      null,
    );
    pending.lookBack(origin + 1, matured);
    for (const [l, row] of rows.entries()) {
      const error = Math.abs(matured.quantiles[l] - (row[0] - 0.5) * scale);
      assert.ok(error <= (1.11 / 32_000) * scale, `${error / scale}`);
    }
  }
});

test("an observation that equals a quantile still does, however both are rounded", () => {
  const pending = new PendingForecasts({ horizon: 1, channels: 1, levels: 3, grace: 0 });
  const matured = new MaturedSlot();
  for (let origin = 0; origin < 500; origin++) {
    const level = (origin % 7) * 1e4 + 0.1 * origin;
    const values = [level - 0.1 * (origin % 13), level, level + 1 / ((origin % 5) + 3)];
    pending.add(
      origin,
      values.map((value) => ({ values: [value] })),
      [0.3],
      null,
    );
    for (const [l, value] of values.entries()) {
      pending.lookBack(origin + 1, matured);
      matured.observe(0, Math.fround(value - 0.3));
      assert.equal(matured.actuals[0], matured.quantiles[l]);
    }
  }
});

test("equal numbers, and numbers beyond single precision, are stored", () => {
  const pending = new PendingForecasts({ horizon: 1, channels: 1, levels: 2, grace: 0 });
  const matured = new MaturedSlot();
  pending.add(0, [{ values: [7.3] }, { values: [7.3] }], [7], null);
  pending.lookBack(1, matured);
  assert.deepEqual([...matured.quantiles.subarray(0, 2)], [Math.fround(7.3 - 7), Math.fround(7.3 - 7)]);
  pending.add(1, [{ values: [-1e300] }, { values: [1e300] }], [0], null);
  pending.lookBack(2, matured);
  assert.ok(matured.quantiles[0] < -3e38 && matured.quantiles[1] > 3e38);
  matured.observe(0, 5);
  assert.ok(Math.abs(matured.actuals[0]) < 1e35);
});

test("takeChanged returns each row written since the last call once", () => {
  const pending = new PendingForecasts(shape);
  const rows = addAll(pending, [0, 1]);
  assert.deepEqual(pending.takeChanged(), rows);
  assert.deepEqual(pending.takeChanged(), []);
  addAll(pending, range(2, 10));
  assert.deepEqual([...pending.takeChanged()].sort(), [0, 1, 2, 3, 4]);
});

test("a forecast of another version does not count, until its row is used again", () => {
  const pending = new PendingForecasts(shape);
  const row = add(pending, 0, "cold-1");
  add(pending, 1);
  assert.equal(pending.read(row)?.otherVersion, "cold-1");
  assert.deepEqual(originsBehind(pending, 2), [1]);
  addAll(pending, [2, 3, 4, 5]);
  assert.equal(pending.read(row)?.otherVersion, null);
  assert.deepEqual(originsBehind(pending, 6), [5, 4, 3]);
});

test("rows that are loaded in the order of their origins continue like the original", () => {
  const pending = new PendingForecasts({ ...shape, channels: 2 });
  addAll(pending, [0, 1, 2, 4, 5, 6, 7]);
  pending.takeChanged();
  const restored = new PendingForecasts({ ...shape, channels: 2 });
  const rows = pending.filledRows().map((row) => copy(pending.read(row)));
  for (const row of rows.sort((a, b) => a.originSlot - b.originSlot)) restored.load(row);
  assert.deepEqual(restored.takeChanged(), []);
  for (const one of [pending, restored]) addAll(one, [8, 9]);
  assert.deepEqual(restored.takeChanged(), pending.takeChanged());
  for (const slot of range(7, 12))
    assert.deepEqual(originsBehind(restored, slot), originsBehind(pending, slot));
});

test("a long horizon stores only one origin in n, within half a megabyte", () => {
  const pending = new PendingForecasts({ horizon: 1000, channels: 1, levels: 9, grace: 6 });
  assert.ok(pending.stride > 1);
  const rows = addAll(pending, range(0, 3000));
  assert.ok(pending.bytes <= 540 * 1024, `${pending.bytes} bytes`);
  assert.equal(rows.filter((row) => row >= 0).length, Math.ceil(3001 / pending.stride));
  const origins = originsBehind(pending, 3001);
  assert.ok(origins.length >= Math.floor(1000 / pending.stride));
  for (let i = 1; i < origins.length; i++) assert.equal(origins[i - 1] - origins[i], pending.stride);
});

test("a single forecast larger than half a megabyte is stored alone", () => {
  const pending = new PendingForecasts({ horizon: 10_000, channels: 8, levels: 9, grace: 0 });
  assert.ok(pending.rows <= 2);
  assert.ok(pending.bytes < 3 * 1024 * 1024);
});

test("a matured slot holds more forecasts than it first had room for", () => {
  const matured = new MaturedSlot();
  for (const [count, channels] of [
    [100, 2],
    [3, 1],
    [70, 5],
  ]) {
    matured.begin(channels, 2);
    for (let i = 0; i < count; i++) matured.add(i, new Array<number>(2 * channels).fill(i));
    for (let c = 0; c < channels; c++) matured.observe(c, c);
    assert.equal(matured.count, count);
    for (let i = 0; i < count; i++) {
      assert.deepEqual([matured.steps[i], matured.quantiles[i * channels * 2]], [i, i]);
      assert.equal(matured.actuals[i * channels + channels - 1], channels - 1);
    }
  }
});
