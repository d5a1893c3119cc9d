// The paper's test of time-variance for the convolutional form; a file of its own, because it takes a minute.

import assert from "node:assert/strict";
import { test } from "node:test";
import { specOf } from "../../src/models/forecastnet/spec.ts";
import { openEngine, trainOn, τ } from "./support/laboratory.ts";
import { scoreOf, series } from "./support/modulated-trial.ts";

// Seeds 1 and 2: 0.063, 0.095 over the test part, the worst of the four windows 0.11, 0.14.
test("cFN2 follows the amplitude from every one of the paper's starting points", async () => {
  const engine = await openEngine();
  try {
    const lesson = { seed: 1, rate: 2e-3, batchSize: 8, maxEpochs: 20 };
    const model = await trainOn(engine, series, specOf("cFN2", τ), lesson);
    const { mean, worst } = await scoreOf(engine, "cFN2", model);
    assert.ok(mean <= 0.15, `MASE ${mean} over the test part`);
    assert.ok(worst <= 0.3, `MASE ${worst} at one of the four`);
  } finally {
    await engine.close();
  }
});
