import assert from "node:assert/strict";
import { test } from "node:test";
import type { Batch, RawForecast, Window } from "../../../src/domain.ts";
import { coldForecastOf, toForecasts } from "../../../src/forecast/to-forecasts.ts";
import { seriesSettings } from "../../rig/series-settings.ts";
import { untimed } from "../../rig/untimed.ts";

const settings = seriesSettings({ horizon: 2, season: 2, history: 8, gapMax: 1 });

const windowOf = (seriesId: string, values: readonly number[], changes: Partial<Window> = {}): Window => ({
  ...{
    seriesId,
    settings,
    interval: "PT1H",
    originMs: 1000,
    originStep: 0,
    originSlot: 0,
    placedBefore: 0,
    channels: 1,
  },
  stepTimesMs: [2000, 3000],
  ...{ values: Float64Array.from(values), freshSteps: values.length, filledShare: 0.25, skippedOrigins: 4 },
  seasonalErrors: null,
  ...changes,
});

const batchOf = (items: readonly Window[]): Batch<Window> => ({
  ...{
    partition: 1,
    items,
    records: [],
    placements: [],
    arrivedMs: 5,
    eventMs: 4,
    isBehind: false,
    isFull: false,
  },
  settle: async () => {},
});

async function forecastAll(batches: readonly Batch<Window>[]) {
  const counted: string[] = [];
  const results: Batch<RawForecast>[] = [];
  const metrics = {
    ...untimed,
    forecasts: (tier: string, method: string, n: number) => counted.push(`${tier} ${method} ${n}`),
  };
  async function* source() {
    yield* batches;
  }
  const cold = {
    forecast: (windows: readonly Window[]) => windows.map((window) => coldForecastOf(window, [0.5])),
  };
  for await (const batch of toForecasts(source(), cold, metrics))
    results.push({ ...batch, items: [...batch.items] });
  return { results, counted };
}

test("each window becomes one forecast that says what it rests on, counted by method", async () => {
  const seasonalErrors = [{ quantiles: [0], rms: 1, count: 40 }];
  const windows = [
    windowOf("a", [1, 2]),
    windowOf("b", [1, 2, 3, 4], { seasonalErrors }),
    windowOf("c", [5, 6]),
  ];
  const { results, counted } = await forecastAll([batchOf(windows)]);
  assert.deepEqual(
    results[0].items.map(({ id, tier, method, mean, modelKey }) => [id, tier, method, mean, modelKey]),
    [
      ["a@1000/persistence-1", "cold", "persistence", [2, 2], "a"],
      ["b@1000/seasonal-naive-2", "cold", "seasonal-naive", [3, 4], "b"],
      ["c@1000/persistence-1", "cold", "persistence", [6, 6], "c"],
    ],
  );
  assert.deepEqual(
    results[0].items.map(({ window }) => window),
    windows,
  );
  assert.deepEqual(counted, ["cold persistence 2", "cold seasonal-naive 1"]);
});

test("a batch without windows, or whose windows say nothing, still flows on with all it carries", async () => {
  const empty = batchOf([]);
  const lone = { ...batchOf([windowOf("a", [1])]), arrivedMs: 9 };
  const { results, counted } = await forecastAll([empty, lone]);
  assert.deepEqual(
    results.map(({ items, arrivedMs, settle }) => [items, arrivedMs, settle]),
    [
      [[], 5, empty.settle],
      [[], 9, lone.settle],
    ],
  );
  assert.deepEqual(counted, []);
});
