import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  createReferenceExecutor,
  differentiateNet,
} from "../../../../../src/engine/reference/reference-executor.ts";
import { frameHistory, type TrainingSet } from "../../../../../src/models/forecastnet/framing.ts";
import { initialWeights } from "../../../../../src/models/forecastnet/initial-weights.ts";
import { type NetPlan, planNet } from "../../../../../src/models/forecastnet/plan.ts";
import { type ForecastNetSpec, type Framing, specOf } from "../../../../../src/models/forecastnet/spec.ts";
import { linearStart, moveShortcut } from "../../../../../src/models/forecastnet/training/linear-start.ts";
import {
  chooseRules,
  fitMap,
  mapFrameOf,
  type ScaledHistory,
} from "../../../../../src/models/forecastnet/training/shortcut-map.ts";
import type { AffineMap } from "../../../../../src/models/regression/affine-map.ts";
import { fitScaler } from "../../../../../src/models/scaler.ts";
import { createRandom } from "../../../../../src/runtime/random.ts";

const framings: readonly Framing[] = [
  { level: "none", scale: "none" },
  { level: "last", scale: "none" },
  { level: "mean", scale: "deviation" },
  { level: "last", scale: "deviation" },
];

function specWith(framing: Framing): ForecastNetSpec {
  return specOf("FN", 6, { inputLength: 12, loss: "crps", shortcut: "linear", framing });
}

/** Two sinusoids obey a linear recurrence: a linear forecast of them can be perfect. */
function sinusoids(steps: number): Float64Array {
  return Float64Array.from({ length: steps }, (_, t) => 5 + Math.sin(t / 2) + 0.5 * Math.sin(t / 3));
}

/** The plan of a net, its rows, and the history that its map is fitted to. */
function framed(spec: ForecastNetSpec, history: Float64Array) {
  const scaler = fitScaler(history, 1, history.length);
  const { inputLength: length, horizon } = spec;
  const scaled: ScaledHistory = {
    shape: { length, horizon, channels: 1 },
    values: [history.map((value) => (value - scaler.offset[0]) / scaler.scale[0])],
    frame: mapFrameOf(spec.framing),
  };
  const rows = frameHistory(spec, scaler, history, { from: 0, to: history.length });
  return { plan: planNet(spec), rows, scaled, ends: [history.length] };
}

/** What the map forecasts of a row, in the row's frame. */
function applyMap({ weights, constant }: AffineMap, rows: TrainingSet, row: number): readonly number[] {
  const inputs = weights.length / constant.length;
  return Array.from(constant, (start, o) => {
    let sum = start;
    for (let i = 0; i < inputs; i++) sum += weights[o * inputs + i] * rows.windows[row * inputs + i];
    return sum;
  });
}

function noisy(steps: number): Float64Array {
  const random = createRandom(3);
  return sinusoids(steps).map((value) => value + 0.3 * random.normal());
}

/** Means of the net for a row, each fed to the next step. */
function meansOf(plan: NetPlan, weights: Float32Array, rows: TrainingSet, row: number): Float32Array {
  const window = rows.windows.subarray(row * plan.windowSize, (row + 1) * plan.windowSize);
  // Draws of zero: each step feeds its mean to the next.
  const noise = { paths: 1, values: new Float32Array(plan.spec.horizon) };
  return createReferenceExecutor().sample([{ net: { plan, weights }, window, noise }])[0].mean;
}

function assertNear(found: ArrayLike<number>, expected: ArrayLike<number>): void {
  for (let h = 0; h < expected.length; h++)
    assert.ok(Math.abs(found[h] - expected[h]) < 1e-4, `step ${h} is ${found[h]}, not ${expected[h]}`);
}

describe("the map of a shortcut", () => {
  for (const framing of framings) {
    test(`forecasts sinusoids almost perfectly in the frame ${framing.level}/${framing.scale}`, () => {
      const { rows, scaled, ends } = framed(specWith(framing), sinusoids(300));
      for (const way of ["direct", "recursive"] as const) {
        const map = fitMap(scaled, ends, [{ way, level: "last", penalty: 1e-7 }]);
        const forecast = applyMap(map, rows, 40);
        const errors = forecast.map((value, h) => Math.abs(value - rows.targets[40 * 6 + h]));
        // Without a constant the mean of the series is only known from the window.
        const bar = framing.level === "none" ? 0.02 : 0.2;
        assert.ok(Math.max(...errors) < bar, `${way}: largest error ${Math.max(...errors)}`);
      }
    });
  }

  test("is an average of maps that together forecast best", () => {
    const { scaled, ends } = framed(specWith(framings[1]), noisy(300));
    const rules = chooseRules(scaled, ends);
    assert.ok(rules.length >= 1 && rules.length <= 5);
    const average = fitMap(scaled, ends, rules);
    const single = rules.map((rule) => fitMap(scaled, ends, [rule]));
    for (const [i, weight] of average.weights.entries()) {
      const mean = single.reduce((sum, { weights }) => sum + weights[i], 0) / single.length;
      assert.ok(Math.abs(weight - mean) < 1e-9);
    }
  });

  test("has a strong penalty where there is nothing to learn", () => {
    const random = createRandom(5);
    const history = Float64Array.from({ length: 1_000 }, () => random.normal());
    const { scaled, ends } = framed(specWith(framings[0]), history);
    const strongest = Math.max(...chooseRules(scaled, ends).map(({ penalty }) => penalty));
    assert.ok(strongest >= 0.1, `noise is not to be trusted, but the strongest penalty is ${strongest}`);
  });

  test("uses nothing after the end of the part", () => {
    const history = noisy(300);
    const { scaled } = framed(specWith(framings[0]), history);
    const changed = {
      ...scaled,
      values: scaled.values.map((values) => values.map((v, t) => (t < 200 ? v : 9))),
    };
    const ends = [200];
    assert.deepEqual(chooseRules(changed, ends), chooseRules(scaled, ends));
    const rules = chooseRules(scaled, ends);
    assert.deepEqual(fitMap(changed, ends, rules), fitMap(scaled, ends, rules));
  });

  test("repeats the last value where gaps leave no row to fit", () => {
    const torn = noisy(60).map((value, t) => (t % 8 === 0 ? Number.NaN : value));
    const { scaled, ends } = framed(specWith(framings[1]), torn);
    const { weights, constant } = fitMap(scaled, ends, chooseRules(scaled, ends));
    for (let o = 0; o < 6; o++) {
      const row = [...weights.subarray(o * 12, (o + 1) * 12)];
      assert.deepEqual(row, [...new Array<number>(11).fill(0), 1]);
      assert.equal(constant[o], 0);
    }
  });
});

describe("the linear start", () => {
  test("as weights gives the very forecast of the linear map, by way of the steps before", () => {
    const { plan, rows, scaled, ends } = framed(specWith(framings[1]), noisy(300));
    const map = fitMap(scaled, ends, chooseRules(scaled, ends));
    assertNear(
      meansOf(plan, linearStart(plan, rows, map, initialWeights(plan, 1)), rows, 100),
      applyMap(map, rows, 100),
    );
  });

  test("moves with the map when the history has grown", () => {
    const { plan, rows, scaled, ends } = framed(specWith(framings[0]), noisy(300));
    const rules = chooseRules(scaled, [150]);
    const [before, after] = [fitMap(scaled, [150], rules), fitMap(scaled, ends, rules)];
    const weights = linearStart(plan, rows, before, initialWeights(plan, 1));
    assertNear(
      meansOf(plan, moveShortcut(plan, weights, before, after), rows, 100),
      applyMap(after, rows, 100),
    );
    assertNear(meansOf(plan, weights, rows, 100), applyMap(before, rows, 100));
  });

  test("forecasts the channels that are targets from all channels", () => {
    const [one, other] = [noisy(300), sinusoids(300)];
    const history = Float64Array.from({ length: 600 }, (_, i) => (i % 2 === 0 ? one : other)[i >> 1]);
    const spec = { ...specWith(framings[1]), channels: 2, targets: [1] };
    const scaler = fitScaler(history, 2, 300);
    const values = [history.map((value, i) => (value - scaler.offset[i % 2]) / scaler.scale[i % 2])];
    const scaled = { shape: { length: 12, horizon: 6, channels: 2 }, values, frame: "moving" } as const;
    const map = fitMap(scaled, [300], chooseRules(scaled, [300]));
    const rows = frameHistory(spec, scaler, history, { from: 0, to: 300 });
    const plan = planNet(spec);
    const expected = applyMap(map, rows, 100).filter((_, o) => o % 2 === 1);
    assertNear(meansOf(plan, linearStart(plan, rows, map, initialWeights(plan, 1)), rows, 100), expected);
  });

  test("states a deviation that matches what the map gets wrong", () => {
    const random = createRandom(3);
    const history = Float64Array.from({ length: 2_000 }, () => random.normal());
    const { plan, rows, scaled, ends } = framed(specWith(framings[0]), history);
    const map = fitMap(scaled, ends, [{ way: "direct", level: "none", penalty: 3 }]);
    const { deviation } = differentiateNet(plan, linearStart(plan, rows, map, initialWeights(plan, 1)), rows);
    assert.ok(deviation !== null);
    for (let h = 0; h < 6; h++) {
      const σ = deviation[h * rows.count];
      assert.ok(Math.abs(σ - 1) < 0.1, `σ of white noise at step ${h} is ${σ}`);
    }
  });
});
