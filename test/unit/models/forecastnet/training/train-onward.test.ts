import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openInProcessEngine } from "../../../../../src/engine/in-process-engine.ts";
import { foldsOf } from "../../../../../src/models/folds.ts";
import type { Engine, FitResult, FitTask } from "../../../../../src/models/forecastnet/engine.ts";
import { planNet, shortcutsOf } from "../../../../../src/models/forecastnet/plan.ts";
import { candidatesFor, schedules } from "../../../../../src/models/forecastnet/training/candidates.ts";
import { trainCandidates } from "../../../../../src/models/forecastnet/training/train-candidates.ts";
import { createRandom } from "../../../../../src/runtime/random.ts";

const season = 8;
const steps = 400;
const specs = candidatesFor({ horizon: season, season, channels: 1, targets: [0] }, steps).filter(
  ({ inputLength }) => inputLength === 2 * season,
);

/** The logistic map, with noise: a net learns it, and a linear map cannot. */
function history(): Float64Array {
  const random = createRandom(1);
  let x = 0.3;
  return Float64Array.from({ length: steps }, () => {
    x = 3.6 * x * (1 - x);
    return 10 + 5 * x + 0.05 * random.normal();
  });
}

let engine: Engine;
before(async () => {
  engine = await openInProcessEngine({ kind: "simd" });
});
after(() => engine.close());

/** What the engine was asked for: the tasks of every call to fit, and origins that were forecast before the next call. */
interface Asked {
  readonly fits: readonly FitTask[];
  readonly results: readonly FitResult[];
  readonly lastValues: number[];
}

async function train(
  some: typeof specs,
  { kept = some.length, members = some.length, spoil = (result: FitResult): FitResult => result } = {},
) {
  const asked: Asked[] = [];
  const watched: Engine = {
    ...engine,
    fit: async (fits, signal) => {
      const results = (await engine.fit(fits, signal)).map(spoil);
      asked.push({ fits, results, lastValues: [] });
      return results;
    },
    forecast: (tasks, options) => {
      asked[asked.length - 1].lastValues.push(...tasks.map(({ window }) => window[window.length - 1]));
      return engine.forecast(tasks, options);
    },
  };
  const values = history();
  const schedule = { ...schedules.normal, kept };
  const request = { specs: some, series: [{ values, filled: null }], seed: 1, schedule, members };
  const result = await trainCandidates(watched, request);
  assert.ok(result.outcome === "trained");
  return { asked, values, candidates: result.candidates };
}

describe("training onward", () => {
  test("forecasts every fold before any of it is trained on", async () => {
    const { asked, values } = await train(specs.slice(0, 1));
    const reach = { horizon: season, channels: 1, longest: 2 * season };
    const folds = foldsOf([{ values, filled: null }], reach);
    const ends = [...folds.map(({ trainTo }) => trainTo[0]), steps];
    assert.deepEqual(
      asked.map(({ fits }) => fits[0].training.count),
      ends.map((end) => end - 3 * season + 1),
    );
    for (const [f, { origins }] of folds.entries()) {
      const expected = origins.map(({ step }) => values[step - 1]);
      // Once by the net, once by its linear map.
      assert.deepEqual(asked[f].lastValues, [...expected, ...expected]);
    }
    assert.equal(asked[2].lastValues.length, 0);
  });

  test("continues from what the part before has taught the neurons", async () => {
    const { asked } = await train(specs.slice(0, 1));
    const plan = planNet(specs[0]);
    const moved = new Set<number>();
    for (const { from, to } of shortcutsOf(plan)) for (let i = from; i < to; i++) moved.add(i);
    for (const { mean } of plan.cells) moved.add(mean.biasesAt);
    for (const part of [1, 2]) {
      const [result] = asked[part - 1].results;
      assert.ok(result.outcome === "fitted");
      const reached = result.epochs[result.epochs.length - 1];
      const { start } = asked[part].fits[0];
      assert.ok(start.every((weight, i) => moved.has(i) || weight === reached[i]));
      assert.ok(start.some((weight, i) => weight !== reached[i]));
    }
  });

  test("drops nets after the first fold, and trains only members on the whole", async () => {
    const { asked, candidates } = await train(specs, { kept: 2, members: 1 });
    assert.deepEqual(
      asked.map(({ fits }) => fits.length),
      [4, 2, 1],
    );
    assert.deepEqual(
      candidates.map(({ spec }) => spec),
      asked[2].fits.map(({ spec }) => spec),
    );
  });

  for (const [what, harm] of [
    ["does harm", (weight: number) => weight + 3],
    ["leads to weights that are no numbers", () => Number.NaN],
  ] as const) {
    test(`keeps the linear map when training ${what}`, async () => {
      const [spec] = specs;
      const spoil = (result: FitResult): FitResult => {
        if (result.outcome !== "fitted") return result;
        return {
          ...result,
          weights: result.weights.map(harm),
          epochs: result.epochs.map((one) => one.map(harm)),
        };
      };
      const { asked, candidates } = await train([spec], { spoil });
      assert.ok(asked.length <= 2, "a linear map is not trained on the whole");
      const [{ weights }] = candidates;
      const { cells } = planNet(spec);
      for (const { mean, outputs } of cells) {
        const neurons = weights.subarray(mean.weightsAt, mean.weightsAt + outputs);
        assert.ok(
          neurons.every((weight) => weight === 0),
          "neurons have no influence",
        );
      }
    });
  }

  test("leaves a net alone whose fit grew without bound, and goes on from its start", async () => {
    const { candidates } = await train(specs.slice(0, 1), {
      spoil: () => ({ outcome: "diverged", reason: "the test says so" }),
    });
    assert.ok(candidates[0].weights.every(Number.isFinite));
  });
});
