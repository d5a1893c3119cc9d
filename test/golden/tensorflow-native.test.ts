// TensorFlow on its native backend against the authors' numbers and the reference. Skipped with the reason if that
// backend is not set up.

import { test } from "node:test";
import { findNativeBinding, loadTensorFlow } from "../../src/engine/tensorflow/native-binding.ts";
import { tensorflowExecutor } from "../rig/differentiating-executors.ts";
import { formsSuite } from "./support/forms-suite.ts";
import { goldenSuite } from "./support/golden-suite.ts";
import { subjectOf } from "./support/subject.ts";
import { trainingSuite } from "./support/training-suite.ts";

const name = "TensorFlow, native backend,";

async function make() {
  const loaded = await loadTensorFlow();
  if (loaded.backend !== "native") throw new Error(loaded.reason);
  return tensorflowExecutor(loaded, { budgetBytes: 2 ** 28 });
}

const binding = findNativeBinding();
if (binding.present) {
  goldenSuite(name, async () => subjectOf(await make()), 1e-4);
  // Its kernels round the last digit depending on the position of a number in a stack.
  formsSuite(name, make, { tolerance: 1e-4, batchTolerance: 1e-6 });
  trainingSuite(name, make, 1e-4);
} else {
  test(`${name} equals the numbers of the authors' code`, { skip: binding.reason }, () => {});
}
