// Series whose values have bounds, and kinds of series that are hard to forecast: what subscribers receive for each.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ForecastRecord } from "../../src/log/codec/schemas.generated.ts";
import { createRandom } from "../../src/runtime/random.ts";
import { Fleet } from "./support/fleet.ts";
import { at, hourly, hourOf } from "./support/readings.ts";

const usual = { "series.season": 24, "series.history": 240, "series.horizon": 6 };

/** Forecasts of series "a", with `values` as its readings. */
async function forecastsOf(
  t: Parameters<typeof Fleet.openFor>[0],
  values: readonly number[],
  settings: Readonly<Record<string, unknown>> = {},
) {
  const fleet = Fleet.openFor(t, { settings: { ...usual, ...settings } });
  await fleet.play(...hourly("a", 0, values), "settle");
  return { fleet, forecasts: await fleet.forecasts() };
}

const numbersOf = ({ mean, quantiles }: ForecastRecord) => [
  ...mean,
  ...quantiles.flatMap(({ values }) => values),
];
const least = (forecast: ForecastRecord) => Math.min(...numbersOf(forecast));
const most = (forecast: ForecastRecord) => Math.max(...numbersOf(forecast));

function assertAscending({ quantiles, horizon }: ForecastRecord): void {
  for (let h = 0; h < horizon; h++) {
    const values = quantiles.map((quantile) => quantile.values[h]);
    assert.deepEqual(
      values,
      [...values].sort((one, other) => one - other),
    );
  }
}

function last(forecasts: readonly ForecastRecord[]): ForecastRecord {
  return forecasts.at(-1) ?? assert.fail("no forecast");
}

const uniform = createRandom(3).uniform;
const intermittent = Array.from({ length: 300 }, () => (uniform() < 0.2 ? Math.ceil(9 * uniform()) : 0));

describe("bounds that are configured", () => {
  test("hold for mean and quantiles of every forecast, before and after calibration", async (t) => {
    const values = Array.from({ length: 200 }, (_, i) => 50 + 60 * Math.sin(i / 3.8) + 10 * uniform());
    const { forecasts } = await forecastsOf(t, values, { "series.min": 0, "series.max": 100 });
    assert.ok(forecasts.some(({ method }) => method === "persistence"));
    assert.ok(forecasts.some(({ calibration }) => calibration !== null));
    for (const forecast of forecasts) {
      assert.ok(least(forecast) >= 0 && most(forecast) <= 100, forecast.id);
      assertAscending(forecast);
    }
    assert.equal(Math.min(...forecasts.map(least)), 0);
    assert.equal(Math.max(...forecasts.map(most)), 100);
  });

  test("may differ from series to series", async (t) => {
    const overrides = [{ match: "b*", min: -5, max: 5 }];
    const fleet = Fleet.openFor(t, { settings: { ...usual, "series.overrides": overrides } });
    const values = Array.from({ length: 30 }, (_, i) => 40 * Math.sin(i));
    await fleet.play(...hourly("a", 0, values), ...hourly("b", 0, values), "settle");
    const forecasts = await fleet.forecasts();
    const widest = (id: string) => Math.max(...forecasts.filter(({ seriesId }) => seriesId === id).map(most));
    assert.ok(widest("a") > 40);
    assert.equal(widest("b"), 5);
  });
});

describe("an intermittent series", () => {
  test("is never forecast below zero once it has rested there", async (t) => {
    const { fleet, forecasts } = await forecastsOf(t, intermittent);
    const bounded = forecasts.filter(({ origin }) => hourOf(origin) >= 30);
    for (const forecast of bounded) {
      assert.ok(least(forecast) >= 0, forecast.id);
      assertAscending(forecast);
    }
    assert.ok(bounded.some((forecast) => most(forecast) > 0));
    assert.deepEqual(
      fleet.logged.filter(({ message }) => message.startsWith("lower bound")).map(({ message }) => message),
      ["lower bound found"],
    );
  });

  test("is forecast without that bound where it is switched off", async (t) => {
    const { forecasts } = await forecastsOf(t, intermittent, { "series.min": "none" });
    assert.ok(Math.min(...forecasts.slice(100).map(least)) < 0);
  });

  test("loses the bound with its first value below zero, at once", async (t) => {
    const { fleet } = await forecastsOf(t, intermittent);
    await fleet.play(at("a", 300, -8), "settle");
    assert.ok(least(last(await fleet.forecasts())) < 0);
    assert.equal(fleet.logged.at(-1)?.message, "lower bound lifted");
  });

  test("keeps the bound across a crash, and has the same forecasts as without one", async (t) => {
    const run = async (...words: readonly "crash"[]) => {
      const fleet = Fleet.openFor(t, { settings: usual });
      await fleet.play(...hourly("a", 0, intermittent.slice(0, 150)), "settle", ...words);
      await fleet.play(...hourly("a", 150, intermittent.slice(150)), "settle");
      return JSON.stringify(await fleet.forecasts());
    };
    assert.equal(await run("crash"), await run());
  });
});

test("a series that only passes zero has no bound", async (t) => {
  const values = Array.from({ length: 100 }, (_, i) => (i === 60 ? 0 : 3 + 3 * Math.cos(i / 10) + uniform()));
  const { forecasts } = await forecastsOf(t, values);
  assert.ok(Math.min(...forecasts.slice(70).map(least)) < 0);
});

test("a flat series is forecast as flat, without a spread", async (t) => {
  const { forecasts } = await forecastsOf(t, new Array(100).fill(7));
  for (const forecast of forecasts) {
    assert.deepEqual([...new Set(numbersOf(forecast))], [7]);
    assert.deepEqual([...new Set(forecast.standardDeviation)], [0]);
  }
});

test("a flat series at zero stays there", async (t) => {
  const { forecasts } = await forecastsOf(t, new Array(100).fill(0));
  assert.deepEqual([...new Set(forecasts.flatMap(numbersOf))], [0]);
});

test("a series of two values is forecast between them, as one of them", async (t) => {
  const values = Array.from({ length: 300 }, () => (uniform() < 0.4 ? 1 : 0));
  const { forecasts } = await forecastsOf(t, values, { "series.max": 1 });
  for (const forecast of forecasts.slice(60)) {
    assert.ok(least(forecast) >= 0 && most(forecast) <= 1, forecast.id);
    assert.ok(forecast.mean.every((mean) => mean === 0 || mean === 1));
  }
  const { quantiles } = last(forecasts);
  assert.deepEqual([quantiles[0].values[0], quantiles.at(-1)?.values[0]], [0, 1]);
});

describe("a series with spikes", () => {
  const calm = () => 20 + uniform();

  test("that come every day is forecast with them, at their hours", async (t) => {
    const values = Array.from({ length: 220 }, (_, i) => (i % 24 === 3 ? 200 : calm()));
    const { forecasts } = await forecastsOf(t, values);
    for (const { origin, mean } of forecasts.slice(60)) {
      for (const [h, value] of mean.entries())
        assert.equal(value === 200, (hourOf(origin) + 1 + h) % 24 === 3, `hour ${hourOf(origin)} + ${h + 1}`);
    }
  });

  test("that come once repeats them once, and its raw bands stay narrow", async (t) => {
    const values = Array.from({ length: 220 }, calm);
    values[120] = 5000;
    const { forecasts } = await forecastsOf(t, values, { "calibration.enabled": false });
    const wrong = forecasts.filter(({ mean }) => mean.some((value) => value > 30));
    // Every forecast of hour 144, which is one season after the spike, by seasonal naive.
    assert.deepEqual(
      wrong.map(({ origin }) => hourOf(origin)),
      [138, 139, 140, 141, 142, 143],
    );
    for (const { origin, quantiles, mean } of forecasts.slice(60)) {
      const width = quantiles[quantiles.length - 1].values[0] - quantiles[0].values[0];
      assert.ok(width < 5, `${width} wide at hour ${hourOf(origin)} around ${mean[0]}`);
    }
  });
});

test("a series that steps to another level is forecast there one season later", async (t) => {
  const values = Array.from({ length: 200 }, (_, i) => (i < 120 ? 10 : 40) + uniform());
  const { forecasts } = await forecastsOf(t, values);
  const meanAt = (hour: number) => forecasts.find(({ origin }) => hourOf(origin) === hour)?.mean[0] ?? 0;
  assert.ok(meanAt(119) < 12);
  assert.ok(meanAt(119 + 24) > 39);
  const { quantiles } = last(forecasts);
  assert.ok(quantiles[0].values.every((value) => value > 0));
});
