// One trial on the paper's synthetic series: a form is trained, scored over the whole test part and held to a bar.
// What differs between the forms, their lesson and their bar, is in the tests.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Form, specOf } from "../../../src/models/forecastnet/spec.ts";
import {
  type Lesson,
  masesAt,
  meanOf,
  openEngine,
  syntheticSeries,
  testOrigins,
  trainOn,
  τ,
} from "./laboratory.ts";

export function tryForm(form: Form, bar: number, lesson: Lesson): void {
  test(`${form} forecasts the synthetic series with a MASE of at most ${bar}`, async () => {
    const engine = await openEngine();
    try {
      const series = syntheticSeries();
      const model = await trainOn(engine, series, specOf(form, τ), lesson);
      const mases = await masesAt(engine, model, series, testOrigins(series));
      const mase = meanOf(mases);
      console.log(`${form}: MASE ${mase.toFixed(4)} over ${mases.length} origins, bar ${bar}`);
      assert.ok(mase <= bar, `MASE ${mase} is above ${bar}`);
    } finally {
      await engine.close();
    }
  });
}
