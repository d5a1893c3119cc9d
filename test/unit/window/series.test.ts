import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { SeriesSettings } from "../../../src/domain.ts";
import { Series } from "../../../src/window/series.ts";

const HOUR = 3_600_000;
const LEVELS = [0.1, 0.5, 0.9];

const SETTINGS: SeriesSettings = {
  interval: "PT1H",
  horizon: 4,
  season: 4,
  history: 100,
  every: 1,
  gapPolicy: "linear",
  gapMax: 3,
  offsetMs: 0,
  ...{ cohort: "", form: "auto", driftRatio: 1.5, driftBound: 0 },
};

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
  test("it holds the last 2τ steps with the times of the τ steps ahead", () => {
    const window = seriesOf(upTo(30)).takeWindow(LEVELS);
    assert.deepEqual([...window.values], [22, 23, 24, 25, 26, 27, 28, 29]);
    assert.equal(window.originMs, 29 * HOUR);
    assert.deepEqual(window.stepTimesMs, [30 * HOUR, 31 * HOUR, 32 * HOUR, 33 * HOUR]);
    assert.equal(window.freshSteps, 30);
    assert.equal(window.interval, "PT1H");
  });

  test("it reaches back a whole season when that is longer than 2τ", () => {
    assert.equal(seriesOf(upTo(30), { season: 20 }).takeWindow(LEVELS).values.length, 20);
  });

  test("it reaches back as far as the series' model looks, and no further than the series is unbroken", () => {
    const reach = (values: readonly (number | null)[], modelSteps: number) =>
      seriesOf(values).takeWindow(LEVELS, 0, modelSteps).values.length;
    assert.equal(reach(upTo(30), 17), 17);
    assert.equal(reach(upTo(30), 3), 8);
    assert.equal(reach([...upTo(10), null, null, null, null, ...upTo(12)], 17), 12);
  });

  test("with a model the filled share is that of what the model sees", () => {
    const series = seriesOf([...upTo(20), null, null, ...upTo(9)]);
    assert.equal(series.takeWindow(LEVELS).filledShare, 0);
    assert.equal(series.takeWindow(LEVELS, 0, 16).filledShare, 2 / 16);
    assert.equal(series.takeWindow(LEVELS, 0, 5).filledShare, 0);
  });

  test("it does not follow the grid afterwards", () => {
    const series = seriesOf(upTo(10));
    const window = series.takeWindow(LEVELS);
    pushAt(series, 9, 99);
    assert.equal(window.values[7], 9);
  });

  test("fresh steps stop counting at the history", () => {
    assert.equal(seriesOf(upTo(500)).takeWindow(LEVELS).freshSteps, 100);
  });

  test("channels of a step lie side by side", () => {
    const series = new Series("s", SETTINGS);
    for (const hour of [1, 2, 4]) pushAt(series, hour, hour, -hour);
    assert.deepEqual([...series.takeWindow(LEVELS).values], [1, -1, 2, -2, 3, -3, 4, -4]);
  });

  test("calendar months are stepped by the calendar", () => {
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

  test("an offset puts values stamped between the ticks of a given interval each in a slot of its own", () => {
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

  test("taking a window before there is a grid is a mistake of the caller", () => {
    assert.throws(() => new Series("s7", SETTINGS).takeWindow(LEVELS), /"s7" has no grid yet/);
  });
});

describe("gaps", () => {
  const gappy = [0, 10, 20, 30, null, 50, null, null, 80];

  test("linear draws a line between the neighbours", () => {
    const window = seriesOf(gappy).takeWindow(LEVELS);
    assert.deepEqual([...window.values], [10, 20, 30, 40, 50, 60, 70, 80]);
    assert.equal(window.filledShare, 3 / 8);
    assert.equal(window.freshSteps, 9);
  });

  test("hold repeats the last value seen", () => {
    const window = seriesOf(gappy, { gapPolicy: "hold" }).takeWindow(LEVELS);
    assert.deepEqual([...window.values], [10, 20, 30, 30, 50, 50, 50, 80]);
  });

  test("seasonal takes the season before, then the one after, then the line", () => {
    const window = seriesOf([0, null, 20, null, 7, 50, null, null, null, 90], {
      gapPolicy: "seasonal",
      horizon: 5,
    }).takeWindow(LEVELS);
    // Slot 1 has only slot 5 after it; 3 and 7 have neither; 6 has slot 2 before it; 8 has slot 4.
    assert.deepEqual([...window.values], [0, 50, 20, 13.5, 7, 50, 20, 70, 7, 90]);
  });

  test("with policy none any gap begins the series anew", () => {
    const window = seriesOf(gappy, { gapPolicy: "none" }).takeWindow(LEVELS);
    assert.deepEqual([...window.values], [80]);
    assert.equal(window.filledShare, 0);
  });

  test("a gap longer than gapMax begins the series anew, one of just gapMax does not", () => {
    const gap = (length: number) => [1, 2, ...new Array(length).fill(null), 3, 4];
    assert.equal(seriesOf(gap(3)).takeWindow(LEVELS).freshSteps, 7);
    const fresh = seriesOf(gap(4)).takeWindow(LEVELS);
    assert.equal(fresh.freshSteps, 2);
    assert.deepEqual([...fresh.values], [3, 4]);
  });

  test("a late point that closes such a gap joins the runs again", () => {
    const series = seriesOf([1, 2, null, null, null, null, 3, 4]);
    assert.equal(pushAt(series, 4, 9), "late-amended");
    assert.equal(series.takeWindow(LEVELS).freshSteps, 8);
  });

  test("a gap that reaches over the window's left edge is filled from beyond it", () => {
    const window = seriesOf([0, null, null, null, 4, 5, 6, 7, 8, 9]).takeWindow(LEVELS);
    assert.deepEqual([...window.values], [2, 3, 4, 5, 6, 7, 8, 9]);
    assert.equal(window.filledShare, 2 / 8);
  });
});

describe("seasonal errors", () => {
  test("there are none before two seasons", () => {
    assert.equal(seriesOf(upTo(7)).takeWindow(LEVELS).seasonalErrors, null);
    assert.equal(seriesOf(upTo(8)).takeWindow(LEVELS).seasonalErrors?.[0].count, 4);
  });

  test("filled slots make no errors", () => {
    const summary = seriesOf([0, 1, 2, 3, 4, null, 6, 7, 8, 9]).takeWindow(LEVELS).seasonalErrors?.[0];
    // Steps 4, 6, 7 and 8 have both ends; 5 is missing and 9 would need it.
    assert.deepEqual(summary, { quantiles: [4, 4, 4], rms: 4, count: 4 });
  });

  test("they reach back 100 steps, or as far as the history lets both ends be kept", () => {
    const count = (history: number) =>
      seriesOf(upTo(400), { history }).takeWindow(LEVELS).seasonalErrors?.[0].count;
    assert.equal(count(300), 100);
    assert.equal(count(50), 46);
  });
});

describe("due", () => {
  test("a lone point is not forecast", () => {
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
  test("the first observation fixes the number of channels", () => {
    const series = new Series("s", SETTINGS);
    assert.equal(pushAt(series, 0), "wrong-channels");
    assert.equal(pushAt(series, 0, 1, 2), "advanced");
    assert.equal(pushAt(series, 1, 1), "wrong-channels");
    assert.equal(pushAt(series, 0, 5, 6), "duplicate");
    assert.equal(pushAt(series, 5000, 1, 2), "advanced");
    assert.equal(pushAt(series, 4000, 1, 2), "too-late");
  });

  test("an automatic interval is found with the eighth distinct time, whatever the order", () => {
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

test("a window taken at every step equals the one taken once from the same points in another order", () => {
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
