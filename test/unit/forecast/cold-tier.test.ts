import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { SeriesSettings, Window } from "../../../src/domain.ts";
import { coldForecastOf } from "../../../src/forecast/to-forecasts.ts";
import { Series } from "../../../src/window/series.ts";
import { seriesSettings } from "../../rig/series-settings.ts";

const LEVELS = [0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975];
const HOUR = 3_600_000;

const SETTINGS = seriesSettings({ horizon: 6, season: 4, history: 200 });

function windowOf(rows: readonly (readonly number[])[], settings: SeriesSettings = SETTINGS): Window {
  const series = new Series("s", settings);
  rows.forEach((values, i) => {
    series.push({ seriesId: "s", timeMs: i * HOUR, values });
  });
  return series.takeWindow(LEVELS);
}

const column = (values: readonly number[]) => values.map((value) => [value]);

function forecastOf(window: Window) {
  const forecast = coldForecastOf(window, LEVELS);
  assert.ok(forecast !== null);
  return { ...forecast, quantiles: forecast.quantiles.map(({ values }) => values) };
}

describe("persistence", () => {
  test("a single point has no forecast", () => {
    assert.equal(coldForecastOf(windowOf([[7]]), LEVELS), null);
  });

  test("the last value stays and the spread grows with the root of the step", () => {
    const { mean, standardDeviation, quantiles, method } = forecastOf(windowOf(column([1, 3, 1, 3])));
    assert.equal(method, "persistence");
    assert.deepEqual(mean, [3, 3, 3, 3, 3, 3]);
    assert.equal(standardDeviation[3], 2 * standardDeviation[0]);
    assert.equal(quantiles[4][5], 3);
    assert.equal(quantiles[8][3] - 3, 2 * (quantiles[8][0] - 3));
  });

  test("after few points the band is wider than after many of the same size", () => {
    const width = (points: number) => {
      const values = Array.from({ length: points }, (_, i) => i % 2);
      const { quantiles } = forecastOf(windowOf(column(values), { ...SETTINGS, season: 100 }));
      return quantiles[8][0] - quantiles[0][0];
    };
    assert.ok(width(2) > width(3) && width(3) > width(6) && width(6) > width(12));
    assert.ok(Math.abs(width(2) - 2 * 12.7062) < 1e-3);
  });
});

describe("seasonal naive", () => {
  const season = [10, 20, 30, 40];

  test("it begins with the second season and repeats the last one beyond its end", () => {
    const young = [...season, ...season.slice(0, 3)];
    assert.equal(forecastOf(windowOf(column(young))).method, "persistence");
    const { mean, method } = forecastOf(windowOf(column([...season, ...season])));
    assert.equal(method, "seasonal-naive");
    assert.deepEqual(mean, [10, 20, 30, 40, 10, 20]);
  });

  test("a flat series is forecast flat, with no spread and no NaN", () => {
    const { mean, standardDeviation, quantiles } = forecastOf(windowOf(column(new Array(50).fill(5))));
    assert.deepEqual(mean, new Array(6).fill(5));
    assert.deepEqual(standardDeviation, new Array(6).fill(0));
    for (const values of quantiles) assert.deepEqual(values, new Array(6).fill(5));
  });

  test("the band is that of the past errors, wider by √2 in the second season", () => {
    const values = Array.from({ length: 160 }, (_, i) => season[i % 4] + (i % 7));
    const window = windowOf(column(values));
    const errors = window.seasonalErrors?.[0];
    assert.ok(errors !== undefined && errors.count === 100);
    const { mean, standardDeviation, quantiles } = forecastOf(window);
    assert.equal(quantiles[0][0], mean[0] + errors.quantiles[0]);
    assert.equal(quantiles[0][4], mean[4] + errors.quantiles[0] * Math.SQRT2);
    assert.equal(standardDeviation[0], errors.rms);
    assert.equal(standardDeviation[5], errors.rms * Math.SQRT2);
  });

  test("channels are forecast each from its own past, one after the other", () => {
    const rows = Array.from({ length: 40 }, (_, i) => [season[i % 4], 1000 + i]);
    const { mean } = forecastOf(windowOf(rows));
    assert.deepEqual(mean.slice(0, 6), [10, 20, 30, 40, 10, 20]);
    assert.deepEqual(mean.slice(6), [1036, 1037, 1038, 1039, 1036, 1037]);
  });
});

test("every cold forecast is finite, of full length, and its quantiles rise with their level", () => {
  const value = fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e100, max: 1e100 });
  const rows = fc.integer({ min: 1, max: 3 }).chain((channels) =>
    fc.array(fc.array(value, { minLength: channels, maxLength: channels }), {
      minLength: 2,
      maxLength: 60,
    }),
  );
  fc.assert(
    fc.property(rows, (observed) => {
      const window = windowOf(observed);
      const { mean, standardDeviation, quantiles } = forecastOf(window);
      const size = window.channels * SETTINGS.horizon;
      for (const array of [mean, standardDeviation, ...quantiles]) {
        assert.equal(array.length, size);
        assert.ok(array.every(Number.isFinite));
      }
      assert.equal(quantiles.length, LEVELS.length);
      for (let l = 1; l < LEVELS.length; l++) {
        for (let i = 0; i < size; i++) assert.ok(quantiles[l][i] >= quantiles[l - 1][i]);
      }
    }),
  );
});
