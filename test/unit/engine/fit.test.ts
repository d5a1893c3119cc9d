import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fit, fitted, gaussian, linear, taskOf, training } from "./support/sine-task.ts";

describe("a small net", () => {
  for (const [name, spec, bound] of [
    ["with linear outputs", linear, 0.01],
    ["with Gaussian outputs", gaussian, -1],
  ] as const) {
    test(`${name} learns a sine`, () => {
      const { results, progress } = fit([taskOf({ maxEpochs: 40 }, spec)]);
      const { validationLoss, weights, epoch } = fitted(results[0]);
      assert.ok(validationLoss < bound, `${validationLoss}`);
      assert.equal(validationLoss, Math.min(...progress.map((p) => p.validationLoss)));
      assert.equal(progress[epoch - 1].validationLoss, validationLoss);
      assert.ok(weights.every(Number.isFinite));
    });
  }

  test("ends the same from the same seed, and otherwise from another", () => {
    const [a, b, c] = [1, 1, 2].map((seed) => fitted(fit([taskOf({ seed, maxEpochs: 4 })]).results[0]));
    assert.deepEqual(a, b);
    assert.notDeepEqual(a.weights, c.weights);
  });

  test("does not touch the weights it started from", () => {
    const task = taskOf({ maxEpochs: 2 });
    const before = Float32Array.from(task.start);
    fit([task]);
    assert.deepEqual(task.start, before);
  });

  test("goes on from where a former training ended", () => {
    const cold = fitted(fit([taskOf({ maxEpochs: 15 })]).results[0]);
    const task = { ...taskOf({ maxEpochs: 3, learningRates: [1e-3] }), start: cold.weights };
    const warm = fitted(fit([task]).results[0]);
    const short = fitted(fit([taskOf({ maxEpochs: 3 })]).results[0]);
    assert.ok(warm.validationLoss <= cold.validationLoss);
    assert.ok(warm.validationLoss < short.validationLoss / 2);
  });

  for (const spec of [linear, gaussian]) {
    test(`diverges at an absurd learning rate and says so: ${spec.output}`, () => {
      const [result] = fit([taskOf({ learningRates: [1e6], maxEpochs: 5 }, spec)]).results;
      assert.equal(result.outcome, "diverged");
      assert.match(
        result.outcome === "diverged" ? result.reason : "",
        /at learning rate 1000000, epoch \d+, the/,
      );
    });
  }

  test("is saved by a sound rate among absurd ones", () => {
    const { results } = fit([taskOf({ learningRates: [1e6, 1e-2], maxEpochs: 5 })]);
    assert.equal(fitted(results[0]).learningRate, 1e-2);
  });

  test("in company ends as it would alone", () => {
    const other = {
      ...training,
      count: 20,
      windows: training.windows.slice(0, 120),
      targets: training.targets.slice(0, 60),
    };
    const tasks = [
      taskOf({ maxEpochs: 6, learningRates: [1e-2, 1e-3] }),
      { ...taskOf({ maxEpochs: 3, seed: 5, criterion: "free" }, linear, 9), training: other },
      taskOf({ maxEpochs: 9, batchSize: 7, learningRates: [3e-3] }, linear, 4),
    ];
    const together = fit(tasks).results;
    tasks.forEach((task, i) => {
      assert.deepEqual(together[i], fit([task]).results[0], `task ${i}`);
    });
  });
});
