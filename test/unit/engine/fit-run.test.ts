import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { FitTask } from "../../../src/models/forecastnet/engine.ts";
import type { TrainingSet } from "../../../src/models/forecastnet/framing.ts";
import { ForecastnetError } from "../../../src/runtime/errors.ts";
import { scripted } from "./support/scripted-session.ts";
import { fit, fitted, gaussian, options, scriptedTask, taskOf, training } from "./support/sine-task.ts";

describe("training", () => {
  test("returns the best weights, not the last", () => {
    const losses = [9, 8, 3, 7, 6, 5, 4];
    const { executor } = scripted({ validation: (steps) => losses[steps] ?? 99 });
    const results = fit([scriptedTask({ maxEpochs: 6 })], executor);
    const { epoch, weights, validationLoss } = fitted(results[0]);
    assert.deepEqual([epoch, weights[0], validationLoss], [2, 2, 3]);
  });

  test("returns the weights after each epoch", () => {
    const { executor } = scripted({ validation: (steps) => 9 - steps });
    const { epochs } = fitted(fit([scriptedTask({ maxEpochs: 3 })], executor)[0]);
    assert.deepEqual(
      epochs.map(([steps]) => steps),
      [1, 2, 3],
    );
  });

  test("without an improvement returns its initial weights", () => {
    const { executor } = scripted({ validation: (steps) => 1 + steps });
    const { epoch, weights, validationLoss } = fitted(fit([scriptedTask()], executor)[0]);
    assert.deepEqual([epoch, weights[0], validationLoss], [0, 0, 1]);
  });

  test("that ends in NaN returns the best weights before", () => {
    const { executor, sessions } = scripted({
      validation: (steps) => 9 - steps,
      training: (steps) => (steps === 4 ? Number.NaN : 1),
    });
    const { epoch, weights } = fitted(fit([scriptedTask()], executor)[0]);
    assert.deepEqual([epoch, weights[0]], [3, 3]);
    assert.equal(sessions[0].stepsOf[0], 4);
  });

  test("whose first loss is not a number has diverged", () => {
    const { executor } = scripted({ validation: (steps) => (steps === 0 ? 1 : Number.NaN) });
    const [result] = fit([scriptedTask({ learningRate: 0.5 })], executor);
    const reason = "at learning rate 0.5, epoch 1, the validation loss was NaN";
    assert.deepEqual(result, { outcome: "diverged", reason });
  });

  test("does not start from weights whose loss is not a number", () => {
    const { executor, sessions } = scripted({ validation: () => Number.NaN });
    const [result] = fit([scriptedTask()], executor);
    assert.equal(result.outcome, "diverged");
    assert.equal(sessions[0].stepsOf[0], 0);
  });

  test("uses every row once per epoch, with a shorter last batch", () => {
    const { executor, sessions } = scripted({ validation: (steps) => 9 - steps });
    fit([scriptedTask({ batchSize: 32, maxEpochs: 1 })], executor);
    const batches = sessions[0].rows.map(([rows]) => [...(rows ?? [])]);
    assert.deepEqual(
      batches.map((rows) => rows.length),
      [32, 32, training.count - 64],
    );
    assert.deepEqual(
      batches.flat().sort((a, b) => a - b),
      [...Array(training.count).keys()],
    );
  });

  test("lets nets with fewer batches or an earlier end skip steps", () => {
    const { executor, sessions } = scripted({ validation: (steps) => 9 - steps });
    fit([scriptedTask({ batchSize: 50, maxEpochs: 2 }), scriptedTask({ maxEpochs: 1 })], executor);
    const skipping = sessions[0].rows.map((rows) => rows.map((indices) => indices === null));
    assert.deepEqual(skipping, [
      [false, false],
      [false, true],
      [false, true],
      [false, true],
    ]);
  });

  test("of no tasks has no results", () => {
    assert.deepEqual(fit([]), []);
  });

  const empty: TrainingSet = { count: 0, windows: new Float32Array(), targets: new Float32Array() };
  const refusals: readonly (readonly [string, Partial<FitTask>, RegExp])[] = [
    [
      "an empty training set",
      { training: empty },
      /task 1: the training set has no rows; .* 6 \+ 3 steps without a gap/,
    ],
    ["an empty validation set", { validation: empty }, /task 1: the validation set has no rows/],
    [
      "a set of another shape",
      { training: { ...training, count: 3 } },
      /task 1: the training set has \d+ and \d+ num/,
    ],
    ["weights of another net", { start: new Float32Array(3) }, /task 1: start has 3 weights; expected \d+/],
    ["another spec", { spec: gaussian }, /task 1: its spec differs from that of task 0/],
    ["no learning rate", { options: { ...options, learningRate: 0 } }, /task 1: learningRate is 0/],
    ["no batch", { options: { ...options, batchSize: 0 } }, /task 1: batchSize is 0; expected 1 or more/],
  ];
  for (const [what, change, expected] of refusals) {
    test(`refuses ${what} and names the task`, () => {
      assert.throws(
        () => fit([taskOf(), { ...taskOf(), ...change }]),
        (error) => error instanceof ForecastnetError && expected.test(error.message),
      );
    });
  }
});
