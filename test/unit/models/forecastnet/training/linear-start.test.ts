import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  createReferenceExecutor,
  differentiateNet,
} from "../../../../../src/engine/reference/reference-executor.ts";
import { frameHistory } from "../../../../../src/models/forecastnet/framing.ts";
import { planNet } from "../../../../../src/models/forecastnet/plan.ts";
import { type ForecastNetSpec, type Framing, specOf } from "../../../../../src/models/forecastnet/spec.ts";
import { linearStart } from "../../../../../src/models/forecastnet/training/linear-start.ts";
import { applyMap, chooseRule, fitMap } from "../../../../../src/models/forecastnet/training/shortcut-map.ts";
import { fitScaler } from "../../../../../src/models/scaler.ts";
import { createRandom } from "../../../../../src/runtime/random.ts";

const framings: readonly Framing[] = [
  { level: "none", scale: "none" },
  { level: "last", scale: "none" },
  { level: "mean", scale: "deviation" },
];

function specWith(framing: Framing): ForecastNetSpec {
  return specOf("FN", 6, { inputLength: 12, loss: "crps", shortcut: "linear", framing });
}

/** Two sinusoids obey a linear recurrence: a linear forecast of them can be perfect. */
function sinusoids(steps: number): Float64Array {
  return Float64Array.from({ length: steps }, (_, t) => 5 + Math.sin(t / 2) + 0.5 * Math.sin(t / 3));
}

function framed(spec: ForecastNetSpec, history: Float64Array) {
  const scaler = fitScaler(history, 1, history.length);
  return { plan: planNet(spec), rows: frameHistory(spec, scaler, history, { from: 0, to: history.length }) };
}

describe("the linear start", () => {
  for (const framing of framings) {
    test(`forecasts sinusoids almost perfectly in the frame ${framing.level}/${framing.scale}`, () => {
      const { plan, rows } = framed(specWith(framing), sinusoids(300));
      for (const way of ["direct", "recursive"] as const) {
        const map = fitMap(plan, rows, { way, penalty: 1e-7 });
        const forecast = applyMap(map, rows.windows, 40 * plan.windowSize, plan.windowSize);
        const errors = forecast.map((value, h) => Math.abs(value - rows.targets[40 * 6 + h]));
        // Dividing by the deviation of a window is not linear: there the map can only come close.
        const bar = framing.scale === "none" ? 0.02 : 0.2;
        assert.ok(Math.max(...errors) < bar, `${way}: largest error ${Math.max(...errors)}`);
      }
    });
  }

  test("as weights gives the very forecast of the linear map, by way of the steps before", () => {
    const random = createRandom(3);
    const history = sinusoids(300).map((value) => value + 0.3 * random.normal());
    const { plan, rows } = framed(specWith(framings[1]), history);
    const rule = chooseRule(plan, rows);
    const weights = linearStart(plan, rows, rule, 1);
    const map = fitMap(plan, rows, rule);
    const executor = createReferenceExecutor();
    const row = 100;
    const window = rows.windows.subarray(row * plan.windowSize, (row + 1) * plan.windowSize);
    // Draws of zero: each step feeds its mean to the next.
    const noise = { paths: 1, values: new Float32Array(6) };
    const [{ mean }] = executor.sample([{ net: { plan, weights }, window, noise }]);
    const expected = applyMap(map, rows.windows, row * plan.windowSize, plan.windowSize);
    for (let h = 0; h < 6; h++) assert.ok(Math.abs(mean[h] - expected[h]) < 1e-4, `step ${h}`);
  });

  test("states a deviation that matches what the map gets wrong", () => {
    const random = createRandom(3);
    const history = Float64Array.from({ length: 2_000 }, () => random.normal());
    const { plan, rows } = framed(specWith(framings[0]), history);
    const weights = linearStart(plan, rows, { way: "direct", penalty: 3 }, 1);
    const { deviation } = differentiateNet(plan, weights, rows);
    assert.ok(deviation !== null);
    for (let h = 0; h < 6; h++) {
      const σ = deviation[h * rows.count];
      assert.ok(Math.abs(σ - 1) < 0.1, `σ of white noise at step ${h} is ${σ}`);
    }
  });

  test("prefers a strong penalty where there is nothing to learn", () => {
    const random = createRandom(5);
    const history = Float64Array.from({ length: 1_000 }, () => random.normal());
    const { plan, rows } = framed(specWith(framings[0]), history);
    assert.ok(chooseRule(plan, rows).penalty >= 0.3, "noise is not to be trusted");
  });
});
