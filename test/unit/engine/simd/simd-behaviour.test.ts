// Properties of the SIMD executor beyond its numbers: equal bytes for equal tasks, memory within the budget, NaN that is
// not hidden.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { NetExecutor } from "../../../../src/engine/executor.ts";
import { loadKernel } from "../../../../src/engine/simd/kernel.ts";
import { createSimdExecutor } from "../../../../src/engine/simd/simd-executor.ts";
import { type NetPlan, planNet } from "../../../../src/models/forecastnet/plan.ts";
import { specOf } from "../../../../src/models/forecastnet/spec.ts";
import { randomNumbers, randomSet, randomWeights } from "./random-nets.ts";

let module: WebAssembly.Module;
before(async () => {
  module = await loadKernel();
});

const dense = planNet(specOf("FN", 4));
const conv = planNet(specOf("cFN", 4));

function drawOnce(executor: NetExecutor, plan: NetPlan, paths: number, seed = 1): Float32Array {
  const values = Float32Array.from({ length: 4 * paths }, (_, i) =>
    Math.sin(3 * Math.floor(i / paths) + (i % paths)),
  );
  const task = {
    net: { plan, weights: randomWeights(plan, seed) },
    window: randomNumbers(plan.windowSize, seed + 1),
    noise: { paths, values },
  };
  return executor.sample([task])[0].mean;
}

test("a forecast has the same bytes whatever ran before it", () => {
  const fresh = createSimdExecutor(module);
  const expected = [drawOnce(fresh, conv, 13), drawOnce(createSimdExecutor(module), dense, 13)];
  const used = createSimdExecutor(module);
  drawOnce(used, conv, 64, 5);
  drawOnce(used, dense, 99, 6);
  const session = used.train(conv, [
    { weights: randomWeights(conv, 2), training: randomSet(conv, 20, 3), validation: randomSet(conv, 5, 4) },
  ]);
  session.step([Int32Array.of(1, 2, 3)], [{ learningRate: 0.1, weightDecay: 0, shortcutRate: 1 }]);
  session.close();
  assert.deepEqual([drawOnce(used, conv, 13), drawOnce(used, dense, 13)], expected);
});

test("a path does not depend on how many others run with it", () => {
  const executor = createSimdExecutor(module);
  const [few, many] = [drawOnce(executor, conv, 3), drawOnce(executor, conv, 41)];
  for (let step = 0; step < 4; step++) {
    assert.deepEqual(few.subarray(step * 3, step * 3 + 3), many.subarray(step * 41, step * 41 + 3));
  }
});

test("training has the same bytes whatever ran before it, and whatever nets train with it", () => {
  const task = (seed: number) => ({
    weights: randomWeights(dense, seed),
    training: randomSet(dense, 30, seed + 1),
    validation: randomSet(dense, 9, seed + 2),
  });
  const rows = Int32Array.from({ length: 11 }, (_, i) => i);
  const adam = { learningRate: 0.01, weightDecay: 0.01, shortcutRate: 1 };
  const alone = createSimdExecutor(module).train(dense, [task(1)]);
  const executor = createSimdExecutor(module);
  drawOnce(executor, conv, 77);
  const beside = executor.train(dense, [task(8), task(1), task(9)]);
  for (let i = 0; i < 3; i++) {
    const [loss] = alone.step([rows], [adam]);
    const losses = beside.step([rows, rows, i === 1 ? null : rows], [adam, adam, adam]);
    assert.equal(losses[1], loss);
    assert.equal(Number.isNaN(losses[2]), i === 1, "a net that skips a step has no loss");
  }
  assert.deepEqual(beside.weights(1), alone.weights(0));
  assert.equal(beside.validate("free")[1], alone.validate("free")[0]);
});

test("a session in the memory of a closed one has no moments", () => {
  const weights = randomWeights(dense, 1);
  const sets = { training: randomSet(dense, 30, 2), validation: randomSet(dense, 9, 3) };
  const executor = createSimdExecutor(module);
  const rows = Int32Array.of(0, 5, 7);
  const step = () => {
    const session = executor.train(dense, [{ weights, ...sets }]);
    assert.deepEqual(session.weights(0), weights);
    session.step([rows], [{ learningRate: 0.01, weightDecay: 0, shortcutRate: 1 }]);
    const reached = session.weights(0);
    session.close();
    return reached;
  };
  assert.deepEqual(step(), step());
});

test("nets beyond the budget are forecast correctly", () => {
  const bytes = dense.weightCount * 4;
  const small = createSimdExecutor(module, { residentBytes: 2.5 * bytes });
  const large = createSimdExecutor(module);
  for (let turn = 0; turn < 3; turn++) {
    for (let seed = 1; seed <= 5; seed++) {
      assert.deepEqual(drawOnce(small, dense, 9, seed), drawOnce(large, dense, 9, seed));
    }
  }
});

test("a weight of NaN makes forecasts and losses NaN", () => {
  const executor = createSimdExecutor(module);
  const weights = randomWeights(dense, 1);
  weights[3] = Number.NaN;
  const noise = { paths: 2, values: randomNumbers(8, 2) };
  const [{ mean }] = executor.sample([{ net: { plan: dense, weights }, window: randomNumbers(8, 3), noise }]);
  assert.ok(mean.some(Number.isNaN));
  const set = randomSet(dense, 4, 4);
  const session = executor.train(dense, [{ weights, training: set, validation: set }]);
  const adam = { learningRate: 0.01, weightDecay: 0, shortcutRate: 1 };
  assert.ok(Number.isNaN(session.step([Int32Array.of(0, 1, 2, 3)], [adam])[0]));
});
