import assert from "node:assert/strict";
import { test } from "node:test";
import { MaturedSlot } from "../../../src/score/matured-slot.ts";
import {
  PendingForecasts,
  type PendingRow,
  type PendingShape,
} from "../../../src/score/pending-forecasts.ts";

const shape: PendingShape = { horizon: 3, channels: 1, levels: 2, median: 0, grace: 2, kept: 4 };

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

/** A quantile of a matured slot, in the unit of the series. */
const numberOf = ({ lows, units, quantiles }: MaturedSlot, output: number, l: number, levels: number) =>
  lows[output] + units[output] * quantiles[output * levels + l];

const observed = ({ lows, units, actuals }: MaturedSlot) => lows[0] + units[0] * actuals[0];

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
        assert.equal(numberOf(matured, i * channels + c, l, levels), stated(origin, l, c, step));
    }
    return origin;
  });
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

function copy(row: PendingRow): PendingRow {
  return { ...row, bytes: row.bytes.slice() };
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

test("a forecast takes the row of the one that is horizon and kept slots older, and stays readable while it can be scored", () => {
  const pending = new PendingForecasts(shape);
  const rows = addAll(pending, range(-2, 10));
  assert.equal(pending.rows, 7);
  assert.equal(new Set(rows.slice(0, 7)).size, 7);
  for (let i = 7; i < rows.length; i++) assert.equal(rows[i], rows[i - 7]);
  for (const origin of range(4, 10)) {
    const read = pending.read(pending.rowOf(origin));
    assert.equal(read?.originSlot ?? null, origin < 6 ? null : origin);
  }
  assert.deepEqual(pending.filledRows(), range(0, 6));
});

test("an origin that is not newer is not stored", () => {
  const pending = new PendingForecasts(shape);
  assert.ok(add(pending, 5) >= 0);
  assert.deepEqual(addAll(pending, [5, 4]), [-1, -1]);
});

test("memory at the defaults is eleven bytes for a cell and twelve for a forecast", () => {
  const bytes = PendingForecasts.bytesOf({
    horizon: 24,
    channels: 1,
    levels: 9,
    median: 4,
    grace: 6,
    kept: 12,
  });
  assert.equal(bytes, (300 + 24 * 6) * 11 + 30 * 12 + 5);
});

const alone: PendingShape = { horizon: 1, channels: 1, levels: 5, median: 2, grace: 0, kept: 0 };

test("quantiles are stored to a 508th of their side's width, whatever their level and the width of the other side", () => {
  const matured = new MaturedSlot();
  for (const scale of [1e-30, 0.001, 1, 1e6, 1e30]) {
    const pending = new PendingForecasts({ ...alone, horizon: 2 });
    // The second step decides the range of the forecast; the upper side of the first is fifty times the lower.
    const row = [0.11, 0.173, 0.2, 2.3, 5.217].map((x) => x * scale);
    pending.add(
      0,
      row.map((value, l) => ({ values: [value, (l - 2) * 20 * scale] })),
      [0.05 * scale],
      null,
    );
    pending.lookBack(1, matured);
    for (const [l, value] of row.entries()) {
      const error = Math.abs(numberOf(matured, 0, l, 5) - (value - 0.05 * scale));
      const width = l < 2 ? row[2] - row[0] : row[4] - row[2];
      assert.ok(error <= width / 500 + (80 * scale) / 32_000, `level ${l} is off by ${error / scale}`);
      if (l === 2) assert.ok(error <= (80 * scale) / 32_000);
    }
  }
});

test("the order of quantiles survives, and so do those that are equal to the median", () => {
  const matured = new MaturedSlot();
  for (let seed = 1; seed < 400; seed++) {
    const pending = new PendingForecasts({ ...alone, horizon: 3 });
    const random = (i: number) => ((seed * 7919 + i * 104_729 + seed * i * 31) % 1000) / 7;
    const columns = [0, 1, 2].map((h) =>
      [0, 1, 2, 3, 4].map((l) => random(5 * h + l) * (h === 1 ? 0.01 : 1)).sort((x, y) => x - y),
    );
    if (seed % 3 === 0) columns[0][1] = columns[0][2];
    pending.add(
      0,
      [0, 1, 2, 3, 4].map((l) => ({ values: columns.map((column) => column[l]) })),
      [0],
      null,
    );
    for (const h of [0, 1, 2]) {
      pending.lookBack(h + 1, matured);
      const numbers = [0, 1, 2, 3, 4].map((l) => numberOf(matured, 0, l, 5));
      for (let l = 1; l < 5; l++) assert.ok(numbers[l] >= numbers[l - 1], `${numbers}`);
      if (h === 0 && seed % 3 === 0) assert.equal(numbers[1], numbers[2]);
    }
  }
});

test("an observation that equals the median, the lowest or the highest number of a forecast still does", () => {
  const pending = new PendingForecasts({ ...alone, levels: 3, median: 1 });
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

test("an observation of a series with two values, or of whole numbers, equals every quantile that it equalled", () => {
  const matured = new MaturedSlot();
  for (const steps of [
    [0, 0, 0, 0.3, 0.3],
    [0, 0.3, 0.3, 0.3, 0.3],
    [-3, -1, 0, 4, 250],
    [7, 19, 80, 81, 140],
  ]) {
    const pending = new PendingForecasts({ ...alone, horizon: 2 });
    const other = [steps[0], steps[0], steps[4], steps[4], steps[4]];
    pending.add(
      0,
      steps.map((value, l) => ({ values: [value, other[l]] })),
      [0],
      null,
    );
    for (const [l, value] of steps.entries()) {
      pending.lookBack(1, matured);
      matured.observe(0, Math.fround(value));
      assert.equal(matured.actuals[0], matured.quantiles[l], `${value} of ${steps}`);
    }
  }
});

test("an observation near a quantile is not taken for it", () => {
  const pending = new PendingForecasts(alone);
  const matured = new MaturedSlot();
  pending.add(
    0,
    [-10, -4.567, 0, 4.567, 10].map((value) => ({ values: [value] })),
    [0],
    null,
  );
  pending.lookBack(1, matured);
  const stored = numberOf(matured, 0, 1, 5);
  for (const [shift, sign] of [
    [0.004, 1],
    [-0.004, -1],
  ]) {
    matured.observe(0, Math.fround(stored + shift));
    assert.equal(Math.sign(matured.actuals[0] - matured.quantiles[1]), sign);
  }
});

test("equal numbers, and numbers beyond single precision, are stored", () => {
  const pending = new PendingForecasts({ ...alone, levels: 2, median: 0 });
  const matured = new MaturedSlot();
  pending.add(0, [{ values: [7.3] }, { values: [7.3] }], [7], null);
  pending.lookBack(1, matured);
  for (const l of [0, 1]) assert.equal(numberOf(matured, 0, l, 2), Math.fround(7.3 - 7));
  matured.observe(0, Math.fround(7.3 - 7));
  assert.equal(matured.actuals[0], matured.quantiles[0]);
  pending.add(1, [{ values: [-1e300] }, { values: [1e300] }], [0], null);
  pending.lookBack(2, matured);
  assert.ok(numberOf(matured, 0, 0, 2) < -3e38 && numberOf(matured, 0, 1, 2) > 3e38);
  matured.observe(0, 5);
  assert.ok(Math.abs(observed(matured)) < 1e35);
});

test("takeChanged returns each row written since the last call once", () => {
  const pending = new PendingForecasts(shape);
  const rows = addAll(pending, [0, 1]);
  assert.deepEqual(pending.takeChanged(), rows);
  assert.deepEqual(pending.takeChanged(), []);
  addAll(pending, range(2, 10));
  assert.deepEqual([...pending.takeChanged()].sort(), [0, 1, 2, 3, 4, 5, 6]);
});

test("a forecast of another version does not count, until its row is used again", () => {
  const pending = new PendingForecasts(shape);
  const row = add(pending, 0, "cold-1");
  add(pending, 1);
  assert.equal(pending.read(row)?.otherVersion, "cold-1");
  assert.deepEqual(originsBehind(pending, 2), [1]);
  addAll(pending, [2, 3, 4, 5]);
  assert.equal(pending.read(row), null);
  assert.equal(pending.read(pending.rowOf(5))?.otherVersion, null);
  assert.deepEqual(originsBehind(pending, 6), [5, 4, 3]);
});

test("rows that are loaded in the order of their origins continue like the original", () => {
  const pending = new PendingForecasts({ ...shape, channels: 2 });
  addAll(pending, [0, 1, 2, 4, 5, 6, 7]);
  pending.takeChanged();
  const restored = new PendingForecasts({ ...shape, channels: 2 });
  const rows = [3, 4, 5, 6, 7].flatMap((origin) => {
    const row = pending.read(pending.rowOf(origin));
    return row === null ? [] : [copy(row)];
  });
  for (const row of rows.sort((a, b) => a.originSlot - b.originSlot)) restored.load(row);
  assert.deepEqual(restored.takeChanged(), []);
  for (const one of [pending, restored]) addAll(one, [8, 9]);
  assert.deepEqual(restored.takeChanged(), pending.takeChanged());
  for (const slot of range(7, 12))
    assert.deepEqual(originsBehind(restored, slot), originsBehind(pending, slot));
});

test("a long horizon stores only one origin in n, within a third of a megabyte", () => {
  const pending = new PendingForecasts({
    horizon: 1000,
    channels: 1,
    levels: 9,
    median: 4,
    grace: 6,
    kept: 12,
  });
  assert.ok(pending.stride > 1);
  const rows = addAll(pending, range(0, 3000));
  const bytes = PendingForecasts.bytesOf(pending.shape);
  assert.ok(bytes <= 320 * 1024, `${bytes} bytes`);
  assert.equal(rows.filter((row) => row >= 0).length, Math.ceil(3001 / pending.stride));
  const origins = originsBehind(pending, 3001);
  assert.ok(origins.length >= Math.floor(1000 / pending.stride));
  for (let i = 1; i < origins.length; i++) assert.equal(origins[i - 1] - origins[i], pending.stride);
});

test("a single forecast larger than that is stored alone", () => {
  const pending = new PendingForecasts({
    horizon: 10_000,
    channels: 8,
    levels: 9,
    median: 4,
    grace: 0,
    kept: 0,
  });
  assert.ok(pending.rows <= 2);
  assert.ok(PendingForecasts.bytesOf(pending.shape) < 3 * 1024 * 1024);
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
