// Shared by the tests of the TensorFlow executor: both backends, random nets and rows, and a count of tensors.

import assert from "node:assert/strict";
import { before, describe } from "node:test";
import type { SampleTask } from "../../../../src/engine/executor.ts";
import { type LoadedTensorFlow, loadTensorFlow } from "../../../../src/engine/tensorflow/native-binding.ts";
import type { TensorFlowOptions } from "../../../../src/engine/tensorflow/tensorflow-executor.ts";
import type { TrainingSet } from "../../../../src/models/forecastnet/framing.ts";
import type { NetPlan } from "../../../../src/models/forecastnet/plan.ts";
import { createRandom } from "../../../../src/runtime/random.ts";
import { tensorflowExecutor } from "../../../rig/differentiating-executors.ts";
import { nativeTensorFlow } from "../../../rig/tensorflow.ts";

const needsNative = await nativeTensorFlow();

/** Runs the tests on one backend after the other, since a thread computes on one backend at a time. */
export function onBackends(body: (loaded: () => LoadedTensorFlow) => void): void {
  for (const backend of ["plain", "native"] as const) {
    describe(`on the ${backend} backend`, backend === "native" ? needsNative : {}, () => {
      let loaded: LoadedTensorFlow | null = null;
      before(async () => {
        loaded = await loadTensorFlow({ backend: backend === "plain" ? "plain" : "auto" });
        assert.equal(loaded.backend, backend, loaded.reason);
      });
      body(() => {
        assert.ok(loaded !== null);
        return loaded;
      });
    });
  }
}

/** Runs `body` with an executor, closes it, and asserts that no tensor is left. */
export function withExecutor(
  loaded: LoadedTensorFlow,
  body: (executor: ReturnType<typeof tensorflowExecutor>) => void,
  options: Partial<TensorFlowOptions> = {},
): void {
  const tensors = countTensors(loaded);
  const executor = tensorflowExecutor(loaded, { budgetBytes: 2 ** 30, ...options });
  try {
    body(executor);
  } finally {
    executor.close();
  }
  assert.equal(countTensors(loaded), tensors, "tensors after close");
}

export function countTensors({ tf }: LoadedTensorFlow): number {
  return tf.memory().numTensors;
}

function uniforms(length: number, seed: number, from: number, to: number): Float32Array {
  const random = createRandom(seed);
  return Float32Array.from({ length }, () => from + (to - from) * random.uniform());
}

export function randomWeights(plan: NetPlan, seed: number): Float32Array {
  return uniforms(plan.weightCount, seed, -0.4, 0.4);
}

export function randomRows(plan: NetPlan, count: number, seed: number): TrainingSet {
  const outputs = plan.cells.length * plan.targets;
  return {
    count,
    windows: uniforms(count * plan.windowSize, seed, 0, 1),
    targets: uniforms(count * outputs, seed + 1, 0, 1),
  };
}

export function sampleTask(
  plan: NetPlan,
  seed: number,
  { weights = randomWeights(plan, seed), paths = 5 } = {},
): SampleTask {
  const draws = plan.cells.length * plan.targets * paths;
  const noise = plan.spec.output === "gaussian" ? { paths, values: uniforms(draws, seed + 2, -2, 2) } : null;
  return { net: { plan, weights }, window: uniforms(plan.windowSize, seed + 1, 0, 1), noise };
}

/** Every number is within 1e-4 of the expected, relative to the largest of them. */
export function assertClose(
  actual: ArrayLike<number> | null,
  expected: ArrayLike<number> | null,
  what: string,
): void {
  if (actual === null || expected === null) {
    assert.equal(actual, expected, what);
    return;
  }
  assert.equal(actual.length, expected.length, `${what}: length`);
  let largest = 0;
  for (let i = 0; i < expected.length; i++) largest = Math.max(largest, Math.abs(expected[i]));
  for (let i = 0; i < expected.length; i++) {
    // Written so that NaN fails.
    if (Math.abs(actual[i] - expected[i]) <= 1e-4 * largest) continue;
    assert.fail(`${what}[${i}]: ${actual[i]} instead of ${expected[i]}`);
  }
}
