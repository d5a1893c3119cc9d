import assert from "node:assert/strict";
import { describe, test } from "node:test";
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

describe("history", () => {
  test("it begins with the oldest observation that is kept and ends with the newest", () => {
    const history = seriesOf([null, null, ...upTo(5)]).history();
    assert.equal(history?.firstTimeMs, 2 * HOUR);
    assert.deepEqual([...(history?.values ?? [])], [0, 1, 2, 3, 4]);
    assert.deepEqual(
      [history?.seriesId, history?.interval, history?.channels, history?.filled],
      ["s", "PT1H", 1, null],
    );
    const kept = seriesOf(upTo(1000)).history();
    assert.ok((kept?.values.length ?? 0) >= 100 && (kept?.values.length ?? 0) < 300);
    assert.equal(kept?.values[0], (kept?.firstTimeMs ?? 0) / HOUR);
    assert.equal(kept?.values.at(-1), 999);
  });

  test("short gaps are filled as in a window and marked, long ones stay open", () => {
    const values = [0, 1, null, 3, null, null, null, null, 8, null, null, null, 12];
    const history = seriesOf(values).history();
    const open = Number.NaN;
    assert.deepEqual([...(history?.values ?? [])], [0, 1, 2, 3, open, open, open, open, 8, 9, 10, 11, 12]);
    assert.deepEqual([...(history?.filled ?? [])], [0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0]);
    const window = seriesOf(values).takeWindow(LEVELS);
    assert.deepEqual([...window.values], [...(history?.values.slice(-window.values.length) ?? [])]);
  });

  test("with the policy none no gap is filled", () => {
    const history = seriesOf([0, null, 2], { gapPolicy: "none" }).history();
    assert.deepEqual([...(history?.values ?? [])], [0, Number.NaN, 2]);
    assert.equal(history?.filled, null);
  });

  test("all channels of a filled slot are filled, and one byte marks them", () => {
    const series = new Series("s", SETTINGS);
    for (const hour of [1, 2, 4]) pushAt(series, hour, hour, -hour);
    assert.deepEqual([...(series.history()?.values ?? [])], [1, -1, 2, -2, 3, -3, 4, -4]);
    assert.deepEqual([...(series.history()?.filled ?? [])], [0, 0, 1, 0]);
  });

  test("a series without a grid has none", () => {
    assert.equal(new Series("s", SETTINGS).history(), null);
  });
});
