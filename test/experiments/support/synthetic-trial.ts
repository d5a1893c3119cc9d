// One trial on the paper's synthetic series: trains a form, scores it over the whole test part and compares its MASE with
// a bar. The tests have the settings and the bar of each form.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Form, specOf } from "../../../src/models/forecastnet/spec.ts";
import {
  masesAt,
  meanOf,
  openEngine,
  syntheticSeries,
  type TrainingSettings,
  testOrigins,
  trainOn,
  τ,
} from "./paper-setup.ts";

export function tryForm(form: Form, bar: number, settings: TrainingSettings): void {
  test(`${form} forecasts the synthetic series with a MASE of at most ${bar}`, async () => {
    const engine = await openEngine();
    try {
      const series = syntheticSeries();
      const model = await trainOn(engine, series, specOf(form, τ), settings);
      const mases = await masesAt(engine, model, series, testOrigins(series));
      const mase = meanOf(mases);
      console.log(`${form}: MASE ${mase.toFixed(4)} over ${mases.length} origins, bar ${bar}`);
      assert.ok(mase <= bar, `MASE ${mase} is above ${bar}`);
    } finally {
      await engine.close();
    }
  });
}
