import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { lossOfNet } from "../../../src/engine/reference/reference-executor.ts";
import { planNet } from "../../../src/models/forecastnet/plan.ts";
import { scripted } from "./support/scripted-session.ts";
import {
  fit,
  fitted,
  gaussian,
  linear,
  scriptedTask,
  taskOf,
  training,
  validation,
} from "./support/sine-task.ts";

describe("a small net", () => {
  for (const [name, spec, bound] of [
    ["with linear outputs", linear, 0.01],
    ["with Gaussian outputs", gaussian, -1],
  ] as const) {
    test(`${name} learns a sine`, () => {
      const { validationLoss, weights, epoch, epochs } = fitted(fit([taskOf({ maxEpochs: 40 }, spec)])[0]);
      assert.ok(validationLoss < bound, `${validationLoss}`);
      const losses = epochs.map((reached) => lossOfNet(planNet(spec), reached, validation, "forced"));
      assert.equal(losses.indexOf(Math.min(...losses)), epoch - 1);
      assert.equal(weights, epochs[epoch - 1]);
      assert.ok(weights.every(Number.isFinite));
    });
  }

  test("ends with the same weights from the same seed, and with others from another seed", () => {
    const [a, b, c] = [1, 1, 2].map((seed) => fitted(fit([taskOf({ seed, maxEpochs: 4 })])[0]));
    assert.deepEqual(a, b);
    assert.notDeepEqual(a.weights, c.weights);
  });

  test("leaves its initial weights unchanged", () => {
    const task = taskOf({ maxEpochs: 2 });
    const before = Float32Array.from(task.start);
    fit([task]);
    assert.deepEqual(task.start, before);
  });

  test("continues from the weights of an earlier training", () => {
    const cold = fitted(fit([taskOf({ maxEpochs: 15 })])[0]);
    const task = { ...taskOf({ maxEpochs: 3, learningRate: 1e-3 }), start: cold.weights };
    const warm = fitted(fit([task])[0]);
    const short = fitted(fit([taskOf({ maxEpochs: 3 })])[0]);
    assert.ok(warm.validationLoss <= cold.validationLoss);
    assert.ok(warm.validationLoss < short.validationLoss / 2);
  });

  for (const spec of [linear, gaussian]) {
    test(`with ${spec.output} output reports divergence at an absurd learning rate`, () => {
      const [result] = fit([taskOf({ learningRate: 1e6, maxEpochs: 5 }, spec)]);
      assert.equal(result.outcome, "diverged");
      assert.match(
        result.outcome === "diverged" ? result.reason : "",
        /at learning rate 1000000, epoch \d+, the/,
      );
    });
  }

  test("trained with others ends as it would alone", () => {
    const other = {
      ...training,
      count: 20,
      windows: training.windows.slice(0, 120),
      targets: training.targets.slice(0, 60),
    };
    const tasks = [
      taskOf({ maxEpochs: 6, learningRate: 1e-3 }),
      { ...taskOf({ maxEpochs: 3, seed: 5, criterion: "free" }, linear, 9), training: other },
      taskOf({ maxEpochs: 9, batchSize: 7, learningRate: 3e-3 }, linear, 4),
    ];
    const together = fit(tasks);
    tasks.forEach((task, i) => {
      assert.deepEqual(together[i], fit([task])[0], `task ${i}`);
    });
  });
});

describe("the learning rate", () => {
  /** The rate of every step of a single task, relative to the configured rate; `batches` steps per epoch. */
  function factorsOf(changes: Parameters<typeof scriptedTask>[0], batches = 1): number[] {
    const { executor, sessions } = scripted({ validation: (steps) => -steps });
    const batchSize = Math.ceil(training.count / batches);
    fit([scriptedTask({ learningRate: 0.5, batchSize, ...changes })], executor);
    return sessions[0].rates.map(([rate]) => rate / 0.5);
  }

  test("is constant by default", () => {
    assert.deepEqual(factorsOf({ maxEpochs: 30 }), new Array(30).fill(1));
  });

  test("on a cosine schedule rises over twenty steps, then falls to zero by the last", () => {
    const factors = factorsOf({ maxEpochs: 50, schedule: "cosine" }, 4);
    assert.equal(factors.length, 200);
    const peak = factors.indexOf(Math.max(...factors));
    assert.equal(peak, 19);
    assert.ok(factors.every((factor, i) => i === 0 || factor > factors[i - 1] === i <= peak));
    assert.ok(Math.abs(factors[0] - 1 / 20) < 1e-12);
    assert.ok(factors[peak] > 0.97 && factors[peak] <= 1);
    assert.ok(Math.abs(factors[100] - 0.5) < 1e-12, "half of the rate in the middle");
    assert.ok(factors[199] > 0 && factors[199] < 1e-3);
  });

  test("on a cosine schedule depends on steps, not on epochs", () => {
    const coarse = factorsOf({ maxEpochs: 80, schedule: "cosine" }, 1);
    const fine = factorsOf({ maxEpochs: 20, schedule: "cosine" }, 4);
    assert.deepEqual(fine, coarse);
  });
});

test("a net learns a sine with the CRPS, a cosine schedule and a shortcut at its own rate", () => {
  const spec = { ...gaussian, loss: "crps", shortcut: "linear" } as const;
  const task = taskOf({ maxEpochs: 40, schedule: "cosine", shortcutRate: 0.1, weightDecay: 0.01 }, spec);
  const { validationLoss } = fitted(fit([task])[0]);
  assert.ok(validationLoss > 0 && validationLoss < 0.05, `${validationLoss}`);
});
