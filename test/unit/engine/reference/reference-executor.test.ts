import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AdamOptions } from "../../../../src/engine/executor.ts";
import {
  createReferenceExecutor,
  differentiateNet,
} from "../../../../src/engine/reference/reference-executor.ts";
import { planNet } from "../../../../src/models/forecastnet/plan.ts";
import { specOf } from "../../../../src/models/forecastnet/spec.ts";
import { seededNet, seededRows } from "../../../golden/support/seeded-net.ts";

const executor = createReferenceExecutor();
const plain: AdamOptions = { learningRate: 0.01, weightDecay: 0, shortcutRate: 1 };

/** One linear neuron before a linear output: μ = v·(w·x + b) + c. */
const line = specOf("FN2", 1, { inputLength: 1, cell: { kind: "dense", units: [1], activation: "linear" } });

function lineSession(weights: readonly number[]) {
  const rows = { count: 2, windows: Float32Array.of(1, 2), targets: Float32Array.of(1, 5) };
  return executor.train(planNet(line), [
    { weights: Float32Array.from(weights), training: rows, validation: rows },
  ]);
}

function assertNear(actual: ArrayLike<number>, expected: readonly number[]): void {
  assert.equal(actual.length, expected.length);
  for (const [i, value] of expected.entries()) {
    assert.ok(Math.abs(actual[i] - value) < 1e-6, `[${i}] is ${actual[i]}, not ${value}`);
  }
}

describe("a training session", () => {
  test("returns the loss before the step and takes bias-corrected Adam steps", () => {
    const session = lineSession([1, 0, 1, 0]);
    // Row 1 only: μ 2, y 5, loss 9, gradient −6·(x, 1, h, 1). The first step has the size of the learning rate.
    assert.deepEqual(session.step([Int32Array.of(1)], [plain]), Float64Array.of(9));
    assertNear(session.weights(0), [1.01, 0.01, 1.01, 0.01]);
    // Then μ = 1.01·(1.01·2 + 0.01) + 0.01 = 2.0603, and the derivative by the last bias is g₂ = 2(μ − 5).
    const [g1, g2] = [-6, 2 * (2.0603 - 5)];
    const m = (0.9 * 0.1 * g1 + 0.1 * g2) / (1 - 0.9 ** 2);
    const v = (0.999 * 0.001 * g1 ** 2 + 0.001 * g2 ** 2) / (1 - 0.999 ** 2);
    session.step([Int32Array.of(1)], [plain]);
    assertNear([session.weights(0)[3]], [0.01 - (0.01 * m) / (Math.sqrt(v) + 1e-8)]);
  });

  test("shrinks weights, but not biases, by learning rate × decay", () => {
    const start = [0.5, 0.25, 2, -0.125];
    const [plainly, decayed] = [lineSession(start), lineSession(start)];
    plainly.step([Int32Array.of(0)], [plain]);
    decayed.step([Int32Array.of(0)], [{ learningRate: 0.01, weightDecay: 0.3, shortcutRate: 1 }]);
    const shrunk = plainly.weights(0).map((w, i) => w - decayed.weights(0)[i]);
    assertNear(shrunk, [0.003 * 0.5, 0, 0.003 * 2, 0]);
  });

  test("trains shortcuts at their own learning rate and does not shrink them", () => {
    // μ = v·h + u·x + c with h = w·x + b, in the order w, b, v, u, c. μ is 2 and y is 5, so that every weight grows.
    const plan = planNet({ ...line, shortcut: "linear" });
    const rows = { count: 1, windows: Float32Array.of(2), targets: Float32Array.of(5) };
    const task = { weights: Float32Array.of(1, 0, 0.5, 0.5, 0), training: rows, validation: rows };
    for (const shortcutRate of [1, 0.25, 0]) {
      const session = executor.train(plan, [task]);
      session.step([Int32Array.of(0)], [{ learningRate: 0.01, weightDecay: 0.3, shortcutRate }]);
      assertNear(session.weights(0), [
        1 - 0.003 + 0.01,
        0.01,
        0.5 - 0.003 * 0.5 + 0.01,
        0.5 + 0.01 * shortcutRate,
        0.01,
      ]);
    }
  });

  test("computes the mean loss over the given rows, which may repeat", () => {
    const session = lineSession([1, 0, 1, 0]);
    assert.deepEqual(session.step([Int32Array.of(0, 1, 1)], [plain]), Float64Array.of((0 + 9 + 9) / 3));
  });

  test("leaves weights and moments of a net that skips a step unchanged, without a loss", () => {
    const net = seededNet(specOf("FN", 3), 1);
    const task = {
      weights: net.weights,
      training: seededRows(net.plan, 8, 2),
      validation: seededRows(net.plan, 4, 3),
    };
    const session = executor.train(net.plan, [task, task]);
    const rows = Int32Array.of(0, 1, 2, 3);
    session.step([rows, rows], [plain, plain]);
    const before = session.weights(0);
    assert.ok(Number.isNaN(session.step([null, rows], [plain, plain])[0]));
    assert.deepEqual(session.weights(0), before);
    session.step([rows, null], [plain, plain]);
    assert.deepEqual(session.weights(0), session.weights(1));
  });

  test("validates on the validation rows by both criteria", () => {
    const net = seededNet(specOf("FN2", 3), 1);
    const [training, validation] = [seededRows(net.plan, 4, 2), seededRows(net.plan, 5, 3)];
    const session = executor.train(net.plan, [{ weights: net.weights, training, validation }]);
    const [forced] = session.validate("forced");
    assert.ok(Math.abs(forced - differentiateNet(net.plan, net.weights, validation).loss) < 1e-14);
    assert.notEqual(session.validate("free")[0], forced);
  });

  test("learns a line", () => {
    const session = lineSession([1, 0, 1, 0]);
    const both = Int32Array.of(0, 1);
    for (let i = 0; i < 2000; i++) session.step([both], [plain]);
    assert.ok(session.validate("free")[0] < 1e-6, `left at ${session.validate("free")[0]}`);
  });
});
