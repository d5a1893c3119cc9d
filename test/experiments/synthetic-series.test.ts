// The paper's synthetic series, without noise: every form of the paper must forecast it almost perfectly.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Engine } from "../../src/engine/engine.ts";
import { type Form, specOf } from "../../src/models/forecastnet/spec.ts";
import { maseAt, openEngine, syntheticSeries, testFrom, trainOn, τ } from "./support/laboratory.ts";

const bars: readonly (readonly [Form, number])[] = [
  ["FN2", 0.01],
  ["FN", 0.03],
  ["cFN2", 0.01],
  ["cFN", 0.03],
];

let engine: Engine;
before(async () => {
  engine = await openEngine();
});
after(() => engine.close());

for (const [form, bar] of bars) {
  test(`${form} forecasts the synthetic series with a MASE of at most ${bar}`, async () => {
    const series = syntheticSeries();
    const model = await trainOn(engine, series, specOf(form, τ), [
      { learningRates: [3e-3], maxEpochs: 15 },
      { learningRates: [1e-3], maxEpochs: 15 },
      { learningRates: [3e-4], maxEpochs: 15 },
      { learningRates: [5e-5], maxEpochs: 10 },
    ]);
    const origins: number[] = [];
    for (let origin = testFrom(series); origin + τ <= series.length; origin++) origins.push(origin);
    const mase = await maseAt(engine, model, series, origins);
    console.log(`${form}: MASE ${mase.toFixed(4)} over ${origins.length} origins`);
    assert.ok(mase <= bar, `MASE ${mase} is above ${bar}`);
  });
}
