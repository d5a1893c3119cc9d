// What judges a candidate, and what does not.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { foldsOf, measureSeries } from "../../../../../src/models/folds.ts";
import type { Engine } from "../../../../../src/models/forecastnet/engine.ts";
import { forecastFold } from "../../../../../src/models/forecastnet/training/fold-forecasts.ts";
import { heldOutErrors } from "../../../../../src/models/forecastnet/training/select-checkpoint.ts";
import { sampleCount } from "../../../../../src/models/held-out.ts";
import { errorTable } from "../../../../../src/models/score-on-folds.ts";
import { ForecastnetError } from "../../../../../src/runtime/errors.ts";
import { randomModel } from "../../../../rig/random-model.ts";

const horizon = 3;
const model = randomModel({ form: "FN2", horizon, spec: { inputLength: 4 } });

/** Forecasts the same number whatever it is asked. */
function saying(value: number): Engine {
  const all = new Float64Array(horizon).fill(value);
  const answer = {
    mean: all,
    standardDeviation: all,
    quantiles: new Array(sampleCount).fill(all),
    paths: null,
  };
  return {
    forecast: async (tasks: readonly object[]) => tasks.map(() => answer),
    release: () => undefined,
  } as unknown as Engine;
}

/** Steps by one, up and down; every fourth slot was filled, and with nonsense. */
function partlyFilled(steps: number, scale = 1) {
  const filled = Uint8Array.from({ length: steps }, (_, t) => (t % 4 === 3 ? 1 : 0));
  const values = Float64Array.from(filled, (mark, t) => scale * (mark === 1 ? 99 : t % 2));
  return measureSeries({ values, filled }, 1);
}

const reach = { horizon, channels: 1, longest: 4 };

describe("judging", () => {
  test("takes the observed values only, each series in units of its own naive error", async () => {
    const series = [partlyFilled(100), partlyFilled(100, 1_000)];
    assert.deepEqual(
      series.map(({ units }) => units),
      [[1], [1_000]],
    );
    for (const fold of foldsOf(series, reach)) {
      const judged = await forecastFold(saying(0), model, series, fold);
      assert.ok(judged !== null && judged.actual.length > 40);
      assert.deepEqual(new Set(judged.actual), new Set([0, 1]));
      assert.equal(judged.samples.length, judged.actual.length * sampleCount);
    }
  });

  test("is impossible where the net has no finite forecast", async () => {
    const unfit = new ForecastnetError("MODEL_UNFIT", "overflow");
    const engine = { ...saying(0), forecast: async (tasks: readonly object[]) => tasks.map(() => unfit) };
    const series = [partlyFilled(100)];
    assert.equal(await forecastFold(engine, model, series, foldsOf(series, reach)[0]), null);
  });

  test("leaves out origins that no observed value follows", () => {
    const filled = new Uint8Array(100).fill(1, 80, 90);
    const [, second] = foldsOf([{ values: new Float64Array(100), filled }], reach);
    assert.equal(second.origins[0].step, 88);
  });
});

describe("the held-out errors of a point form", () => {
  test("are those of the observed values", async () => {
    const series = [partlyFilled(100)];
    const folds = foldsOf(series, reach);
    const errors = await Promise.all(folds.map((fold) => heldOutErrors(saying(0), model, series, fold)));
    const table = errorTable(errors, { horizon, targets: [0] });
    // The scaler of the model divides by ten.
    assert.deepEqual(new Set(table), new Set([0, Math.fround(0.1)]));
    assert.equal(table.length, errors[0].length + errors[1].length);
  });

  test("are in the table as they came when none was filled", () => {
    const table = errorTable([Float32Array.of(3, 1, 30, 10), Float32Array.of(2, 20)], {
      horizon: 2,
      targets: [0],
    });
    assert.deepEqual([...table], [1, 2, 3, 10, 20, 30]);
  });

  test("of a step that was always filled are those of its channel's other steps", () => {
    const errors = Float32Array.of(1, 2, Number.NaN, Number.NaN, 7, 8, 9, 9);
    const table = errorTable([errors], { horizon: 2, targets: [0, 1] });
    assert.deepEqual([...table], [1, 2, 1, 2, 7, 8, 9, 9]);
  });
});
