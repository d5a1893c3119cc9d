// Inputs of wrong sizes are refused before any arithmetic; the message has the input and the expected size.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { loadTensorFlow } from "../../../../src/engine/tensorflow/native-binding.ts";
import {
  createTensorFlowExecutor,
  type TensorFlowExecutor,
} from "../../../../src/engine/tensorflow/tensorflow-executor.ts";
import { planNet } from "../../../../src/models/forecastnet/plan.ts";
import { specOf } from "../../../../src/models/forecastnet/spec.ts";
import { randomRows, randomWeights, sampleTask } from "./on-backends.ts";

const plan = planNet(specOf("FN", 3));
const sound = sampleTask(plan, 1);
const rows = randomRows(plan, 4, 1);
const sessionTask = { weights: randomWeights(plan, 1), training: rows, validation: rows };
let executor: TensorFlowExecutor;

before(async () => {
  executor = createTensorFlowExecutor(await loadTensorFlow({ backend: "plain" }), { budgetBytes: 1e9 });
});

test("weights of another length are refused", () => {
  const weights = sound.net.weights.slice(1);
  const message = `weights of task 1: ${plan.weightCount - 1} numbers; expected ${plan.weightCount} by the plan`;
  assert.throws(() => executor.sample([sound, { ...sound, net: { plan, weights } }]), {
    code: "MODEL_UNFIT",
    message,
  });
  assert.throws(() => executor.differentiate({ plan, weights }, rows), { code: "MODEL_UNFIT" });
  assert.throws(() => executor.train(plan, [{ ...sessionTask, weights }]), { code: "MODEL_UNFIT" });
  assert.throws(() => executor.train(plan, [sessionTask]).reset(0, weights), { code: "MODEL_UNFIT" });
});

test("a window of another length is refused", () => {
  const task = { ...sound, window: new Float32Array(7) };
  assert.throws(() => executor.sample([task]), {
    code: "WINDOW_UNFIT",
    message: "window of task 0: 7 numbers; expected 6 by the plan",
  });
});

test("noise that is missing, superfluous or too short is refused", () => {
  const linear = sampleTask(planNet(specOf("FN2", 3)), 1);
  const cases = [
    [{ ...sound, noise: null }, /noise of task 0: Gaussian outputs need noise/],
    [{ ...linear, noise: sound.noise }, /noise of task 0: linear outputs take none/],
    [{ ...sound, noise: { paths: 6, values: new Float32Array(17) } }, /17 numbers; expected 18 by the plan/],
  ] as const;
  for (const [task, message] of cases) {
    assert.throws(() => executor.sample([task]), { code: "ENGINE_FAILED", message });
  }
});

test("training sets whose arrays do not fit their count are refused", () => {
  const training = { ...rows, count: 5 };
  assert.throws(() => executor.train(plan, [sessionTask, { ...sessionTask, training }]), {
    code: "WINDOW_UNFIT",
    message: /windows of the training set of net 1: 24 numbers; expected 30/,
  });
  const validation = { ...rows, targets: new Float32Array(2) };
  assert.throws(() => executor.train(plan, [{ ...sessionTask, validation }]), {
    code: "WINDOW_UNFIT",
    message: /targets of the validation set of net 0: 2 numbers; expected 12/,
  });
});

test("rows outside the training set are refused", () => {
  const session = executor.train(plan, [sessionTask]);
  const adam = [{ learningRate: 1e-3, weightDecay: 0, shortcutRate: 1 }];
  assert.throws(() => session.step([Int32Array.of(1, 4)], adam), {
    code: "ENGINE_FAILED",
    message: /rows of net 0: row 4 does not exist; .* rows 0 to 3/,
  });
});
