// The paper's test of time-variance: a season whose amplitude repeats only after six seasons, of which a net sees two.
// ForecastNet has weights of its own for every step ahead; the same net with one set of weights for all steps has as
// many neurons (the paper sizes its rivals by neurons), the same inputs and the same training.
//
// What is not claimed: that time-invariance as such is the limit. The series is a sum of four sinusoids, which a net
// trained one step ahead on 2τ points and applied to its own output also forecasts well (MASE MASE_REC24 with 24
// neurons a layer, 0.01 with FN2's number of weights).

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Engine } from "../../src/engine/engine.ts";
import type { ForecastNetModel } from "../../src/models/forecastnet/model.ts";
import { specOf } from "../../src/models/forecastnet/spec.ts";
import {
  masesAt,
  meanOf,
  modulatedSeries,
  openEngine,
  testFrom,
  testOrigins,
  trainOn,
  τ,
} from "./support/laboratory.ts";
import { trainSharedCell } from "./support/shared-cell.ts";

const series = modulatedSeries();
/** The paper's figure: windows that start at these steps of the test part. */
const figureOrigins = [0, 50, 150, 200].map((start) => testFrom(series) + start + 2 * τ);
const spec = specOf("FN2", τ);

let engine: Engine;
before(async () => {
  engine = await openEngine();
});
after(() => engine.close());

async function scoreOf(name: string, model: ForecastNetModel) {
  const mean = meanOf(await masesAt(engine, model, series, testOrigins(series)));
  const figure = await masesAt(engine, model, series, figureOrigins);
  const shown = figure.map((mase) => mase.toFixed(3)).join(", ");
  console.log(`${name}: MASE ${mean.toFixed(4)}; from windows at 0, 50, 150, 200: ${shown}`);
  return { mean, worst: Math.max(...figure) };
}

test("FN2 follows the amplitude from every one of the paper's starting points", async () => {
  const lesson = { seed: 1, rate: 2e-3, batchSize: 32, maxEpochs: 200 };
  const { mean, worst } = await scoreOf("FN2", await trainOn(engine, series, spec, lesson));
  assert.ok(mean <= 0.1, `MASE ${mean} over the test part`);
  assert.ok(worst <= 0.25, `MASE ${worst} at one of the four`);
});

test("the same net with one set of weights for all its cells loses the amplitude", async () => {
  const lesson = { seed: 1, rate: 2e-3, batchSize: 32, maxEpochs: 40 };
  const variant = await scoreOf("FN2, 40 epochs", await trainOn(engine, series, spec, lesson));
  const shared = await scoreOf("shared, 40 epochs", await trainSharedCell(engine, series, spec, lesson));
  assert.ok(variant.mean < 0.25 * shared.mean, `MASE ${variant.mean} against ${shared.mean}`);
  assert.ok(shared.worst > 1, "somewhere it is worse than repeating the value before");
});
