import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { SeriesSettings } from "../../../src/domain.ts";
import { BlockSet, Series } from "../../../src/window/series.ts";
import { seriesSettings } from "../../rig/series-settings.ts";

const HOUR = 3_600_000;
const LEVELS = [0.1, 0.5, 0.9];

const SETTINGS = seriesSettings({ horizon: 4, season: 4, history: 100 });

/** Pushes one value per hour; null leaves the hour out. */
function seriesOf(values: readonly (number | null)[], settings: Partial<SeriesSettings> = {}): Series {
  const series = new Series("s", { ...SETTINGS, ...settings });
  values.forEach((value, hour) => {
    if (value !== null) pushAt(series, hour, value);
  });
  return series;
}

function pushAt(series: Series, hour: number, ...values: number[]) {
  return series.push({ seriesId: "s", timeMs: hour * HOUR, values });
}

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);

describe("window", () => {
  test("a window holds the last 2τ steps and the times of the τ steps ahead", () => {
    const window = seriesOf(upTo(30)).takeWindow(LEVELS);
    assert.deepEqual([...window.values], [22, 23, 24, 25, 26, 27, 28, 29]);
    assert.equal(window.originMs, 29 * HOUR);
    assert.deepEqual(window.stepTimesMs, [30 * HOUR, 31 * HOUR, 32 * HOUR, 33 * HOUR]);
    assert.equal(window.freshSteps, 30);
    assert.equal(window.interval, "PT1H");
  });

  test("a window holds a whole season when that is longer than 2τ", () => {
    assert.equal(seriesOf(upTo(30), { season: 20 }).takeWindow(LEVELS).values.length, 20);
  });

  test("a window holds as many steps as the model needs, but no more than the series has without a long gap", () => {
    const reach = (values: readonly (number | null)[], modelSteps: number) =>
      seriesOf(values).takeWindow(LEVELS, 0, modelSteps).values.length;
    assert.equal(reach(upTo(30), 17), 17);
    assert.equal(reach(upTo(30), 3), 8);
    assert.equal(reach([...upTo(10), null, null, null, null, ...upTo(12)], 17), 12);
  });

  test("with a model, the filled share is that of the steps that the model sees", () => {
    const series = seriesOf([...upTo(20), null, null, ...upTo(9)]);
    assert.equal(series.takeWindow(LEVELS).filledShare, 0);
    assert.equal(series.takeWindow(LEVELS, 0, 16).filledShare, 2 / 16);
    assert.equal(series.takeWindow(LEVELS, 0, 5).filledShare, 0);
  });

  test("a window does not change with the grid", () => {
    const series = seriesOf(upTo(10));
    const window = series.takeWindow(LEVELS);
    pushAt(series, 9, 99);
    assert.equal(window.values[7], 9);
  });

  test("fresh steps are at most the history", () => {
    assert.equal(seriesOf(upTo(500)).takeWindow(LEVELS).freshSteps, 100);
  });

  test("the channels of a step are side by side", () => {
    const series = new Series("s", SETTINGS);
    for (const hour of [1, 2, 4]) pushAt(series, hour, hour, -hour);
    assert.deepEqual([...series.takeWindow(LEVELS).values], [1, -1, 2, -2, 3, -3, 4, -4]);
  });

  test("a monthly series steps by the calendar", () => {
    const series = new Series("s", { ...SETTINGS, interval: "P1M", horizon: 2 });
    for (const day of [5, 28, 31]) {
      series.push({
        seriesId: "s",
        timeMs: Date.UTC(2024, [5, 28, 31].indexOf(day), day % 29),
        values: [day],
      });
    }
    const window = series.takeWindow(LEVELS);
    assert.deepEqual([...window.values], [5, 28, 31]);
    assert.deepEqual(window.stepTimesMs, [Date.UTC(2024, 3, 1), Date.UTC(2024, 4, 1)]);
  });

  test("with an offset, values at noon get one slot each", () => {
    const noonMs = 12 * 3_600_000;
    const series = new Series("s", { ...SETTINGS, interval: "P1D", offsetMs: noonMs });
    for (const [day, earlyMs] of [0, 60_000, -60_000].entries()) {
      const timeMs = Date.UTC(2024, 0, 1 + day) + noonMs - earlyMs;
      assert.equal(series.push({ seriesId: "s", timeMs, values: [day] }), "advanced");
    }
    const window = series.takeWindow(LEVELS);
    assert.deepEqual([...window.values], [0, 1, 2]);
    assert.equal(window.originMs, Date.UTC(2024, 0, 3, 12));
  });

  test("taking a window before there is a grid throws", () => {
    assert.throws(() => new Series("s7", SETTINGS).takeWindow(LEVELS), /"s7" has no grid yet/);
  });
});

describe("gaps", () => {
  const gappy = [0, 10, 20, 30, null, 50, null, null, 80];

  test("the linear policy interpolates between the neighbours", () => {
    const window = seriesOf(gappy).takeWindow(LEVELS);
    assert.deepEqual([...window.values], [10, 20, 30, 40, 50, 60, 70, 80]);
    assert.equal(window.filledShare, 3 / 8);
    assert.equal(window.freshSteps, 9);
  });

  test("the hold policy repeats the last value", () => {
    const window = seriesOf(gappy, { gapPolicy: "hold" }).takeWindow(LEVELS);
    assert.deepEqual([...window.values], [10, 20, 30, 30, 50, 50, 50, 80]);
  });

  test("the seasonal policy takes the season before, then the season after, then interpolates", () => {
    const window = seriesOf([0, null, 20, null, 7, 50, null, null, null, 90], {
      gapPolicy: "seasonal",
      horizon: 5,
    }).takeWindow(LEVELS);
    // Slot 1 has only slot 5 after it; 3 and 7 have neither; 6 has slot 2 before it; 8 has slot 4.
    assert.deepEqual([...window.values], [0, 50, 20, 13.5, 7, 50, 20, 70, 7, 90]);
  });

  test("with the policy none, any gap restarts the run", () => {
    const window = seriesOf(gappy, { gapPolicy: "none" }).takeWindow(LEVELS);
    assert.deepEqual([...window.values], [80]);
    assert.equal(window.filledShare, 0);
  });

  test("a gap longer than gapMax restarts the run, and a gap of gapMax does not", () => {
    const gap = (length: number) => [1, 2, ...new Array(length).fill(null), 3, 4];
    assert.equal(seriesOf(gap(3)).takeWindow(LEVELS).freshSteps, 7);
    const fresh = seriesOf(gap(4)).takeWindow(LEVELS);
    assert.equal(fresh.freshSteps, 2);
    assert.deepEqual([...fresh.values], [3, 4]);
  });

  test("a late point that shortens a long gap joins the two runs", () => {
    const series = seriesOf([1, 2, null, null, null, null, 3, 4]);
    assert.equal(pushAt(series, 4, 9), "late-amended");
    assert.equal(series.takeWindow(LEVELS).freshSteps, 8);
  });

  test("a gap across the left edge of the window is filled from the values before it", () => {
    const window = seriesOf([0, null, null, null, 4, 5, 6, 7, 8, 9]).takeWindow(LEVELS);
    assert.deepEqual([...window.values], [2, 3, 4, 5, 6, 7, 8, 9]);
    assert.equal(window.filledShare, 2 / 8);
  });
});

describe("seasonal errors", () => {
  test("a series has no seasonal errors before two seasons", () => {
    assert.equal(seriesOf(upTo(7)).takeWindow(LEVELS).seasonalErrors, null);
    assert.equal(seriesOf(upTo(8)).takeWindow(LEVELS).seasonalErrors?.[0].count, 4);
  });

  test("filled slots add no seasonal errors", () => {
    const summary = seriesOf([0, 1, 2, 3, 4, null, 6, 7, 8, 9]).takeWindow(LEVELS).seasonalErrors?.[0];
    // Steps 4, 6, 7 and 8 have both ends; 5 is missing and 9 would need it.
    assert.deepEqual(summary, { quantiles: [0, 0, 0], rms: 4, count: 4 });
  });

  test("seasonal errors cover 100 steps, or fewer when the history is shorter", () => {
    const count = (history: number) =>
      seriesOf(upTo(400), { history }).takeWindow(LEVELS).seasonalErrors?.[0].count;
    assert.equal(count(300), 100);
    assert.equal(count(50), 46);
  });
});

describe("history", () => {
  test("a history starts with the oldest stored observation and ends with the newest", () => {
    const history = seriesOf([null, null, ...upTo(5)]).history();
    assert.equal(history?.firstTimeMs, 2 * HOUR);
    assert.deepEqual([...(history?.values ?? [])], [0, 1, 2, 3, 4]);
    assert.deepEqual(
      [history?.seriesId, history?.interval, history?.channels, history?.filled],
      ["s", "PT1H", 1, null],
    );
    const stored = seriesOf(upTo(1000)).history();
    assert.ok((stored?.values.length ?? 0) >= 100 && (stored?.values.length ?? 0) < 300);
    assert.equal(stored?.values[0], (stored?.firstTimeMs ?? 0) / HOUR);
    assert.equal(stored?.values.at(-1), 999);
  });

  test("short gaps of a history are filled as in a window and marked, and long gaps stay", () => {
    const values = [0, 1, null, 3, null, null, null, null, 8, null, null, null, 12];
    const history = seriesOf(values).history();
    const open = Number.NaN;
    assert.deepEqual([...(history?.values ?? [])], [0, 1, 2, 3, open, open, open, open, 8, 9, 10, 11, 12]);
    assert.deepEqual([...(history?.filled ?? [])], [0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0]);
    const window = seriesOf(values).takeWindow(LEVELS);
    assert.deepEqual([...window.values], [...(history?.values.slice(-window.values.length) ?? [])]);
  });

  test("with the policy none, no gap of a history is filled", () => {
    const history = seriesOf([0, null, 2], { gapPolicy: "none" }).history();
    assert.deepEqual([...(history?.values ?? [])], [0, Number.NaN, 2]);
    assert.equal(history?.filled, null);
  });

  test("all channels of a missing slot are filled, and one byte marks the slot", () => {
    const series = new Series("s", SETTINGS);
    for (const hour of [1, 2, 4]) pushAt(series, hour, hour, -hour);
    assert.deepEqual([...(series.history()?.values ?? [])], [1, -1, 2, -2, 3, -3, 4, -4]);
    assert.deepEqual([...(series.history()?.filled ?? [])], [0, 0, 1, 0]);
  });

  test("a series without a grid has no history", () => {
    assert.equal(new Series("s", SETTINGS).history(), null);
  });
});

describe("due", () => {
  test("a single point is not forecast", () => {
    const series = seriesOf([1]);
    assert.equal(series.isDue(), false);
    pushAt(series, 1, 2);
    assert.equal(series.isDue(), true);
  });

  test("every n-th step after the last forecast is due", () => {
    const series = new Series("s", { ...SETTINGS, every: 3 });
    const due = upTo(10).filter((hour) => {
      pushAt(series, hour, hour);
      const isDue = series.isDue();
      if (isDue) series.markForecast();
      return isDue;
    });
    assert.deepEqual(due, [1, 4, 7]);
  });
});

describe("outcomes", () => {
  test("the first observation determines the number of channels", () => {
    const series = new Series("s", SETTINGS);
    assert.equal(pushAt(series, 0), "wrong-channels");
    assert.equal(pushAt(series, 0, 1, 2), "advanced");
    assert.equal(pushAt(series, 1, 1), "wrong-channels");
    assert.equal(pushAt(series, 0, 5, 6), "duplicate");
    assert.equal(pushAt(series, 5000, 1, 2), "advanced");
    assert.equal(pushAt(series, 4000, 1, 2), "too-late");
  });

  test("an automatic interval is found with the eighth distinct time, in any order", () => {
    const hours = [3, 1, 0, 2, 5, 7, 4, 6];
    const series = new Series("s", { ...SETTINGS, interval: "auto" });
    assert.equal(pushAt(series, 3, 0), "interval-pending");
    assert.equal(pushAt(series, 3, 3), "duplicate");
    assert.equal(pushAt(series, 9, 1, 2), "wrong-channels");
    for (const hour of hours.slice(1, 7)) assert.equal(pushAt(series, hour, hour), "interval-pending");
    assert.equal(series.isDue(), false);
    assert.equal(pushAt(series, 6, 6), "interval-found");
    assert.equal(series.interval?.iso, "PT1H");
    assert.deepEqual([...series.takeWindow(LEVELS).values], [0, 1, 2, 3, 4, 5, 6, 7]);
    assert.equal(pushAt(series, 8, 8), "advanced");
  });
});

test("a window does not depend on the order of the points or on the windows taken before", () => {
  const point = fc.record({
    hour: fc.integer({ min: -60, max: 60 }),
    value: fc.integer({ min: -9, max: 9 }),
  });
  const points = fc.uniqueArray(point, { minLength: 1, maxLength: 90, selector: ({ hour }) => hour });
  const settings = fc.record({
    gapPolicy: fc.constantFrom("seasonal" as const, "linear" as const, "hold" as const, "none" as const),
    gapMax: fc.integer({ min: 0, max: 9 }),
    season: fc.integer({ min: 1, max: 9 }),
    history: fc.integer({ min: 18, max: 150 }),
  });
  fc.assert(
    fc.property(points, settings, fc.boolean(), (arrivals, some, isBackwards) => {
      const followed = new Series("s", { ...SETTINGS, ...some });
      for (const { hour, value } of arrivals) {
        pushAt(followed, hour, value);
        followed.takeWindow(LEVELS);
      }
      const once = new Series("s", { ...SETTINGS, ...some });
      const sorted = [...arrivals].sort((a, b) => (isBackwards ? b.hour - a.hour : a.hour - b.hour));
      for (const { hour, value } of sorted) pushAt(once, hour, value);
      assert.deepEqual(followed.takeWindow(LEVELS), once.takeWindow(LEVELS));
      assert.ok(followed.takeWindow(LEVELS).values.every(Number.isFinite));
    }),
    { numRuns: 300 },
  );
});

test("a set of blocks holds small and large places, each once", () => {
  const places = new BlockSet();
  for (const place of [30, 0, 31, 5, 5, 1_000, 31]) places.add(place);
  assert.deepEqual([...places], [0, 5, 30, 31, 1_000]);
  assert.deepEqual([...new BlockSet()], []);
});
