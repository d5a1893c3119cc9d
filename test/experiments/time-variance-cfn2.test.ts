// The paper's test of time variance for the convolutional form. In its own file, because it takes a minute.

import assert from "node:assert/strict";
import { test } from "node:test";
import { specOf } from "../../src/models/forecastnet/spec.ts";
import { scoreOf, series } from "./support/modulated-trial.ts";
import { openEngine, trainOn, τ } from "./support/paper-setup.ts";

// Seeds 1 and 2: 0.063, 0.095 over the test part, the worst of the four windows 0.11, 0.14.
test("cFN2 follows the amplitude from each of the paper's four windows", async () => {
  const engine = await openEngine();
  try {
    const settings = { seed: 1, rate: 2e-3, batchSize: 8, maxEpochs: 20 };
    const model = await trainOn(engine, series, specOf("cFN2", τ), settings);
    const { mean, worst } = await scoreOf(engine, "cFN2", model);
    assert.ok(mean <= 0.15, `MASE ${mean} over the test part`);
    assert.ok(worst <= 0.3, `MASE ${worst} at one of the four windows`);
  } finally {
    await engine.close();
  }
});
