// TensorFlow on its plain backend against the authors' numbers and the reference. The native backend has its own file,
// because TensorFlow.js has one backend per process.

import { loadTensorFlow } from "../../src/engine/tensorflow/native-binding.ts";
import { tensorflowExecutor } from "../rig/differentiating-executors.ts";
import { formsSuite } from "./support/forms-suite.ts";
import { goldenSuite } from "./support/golden-suite.ts";
import { subjectOf } from "./support/subject.ts";
import { trainingSuite } from "./support/training-suite.ts";

const name = "TensorFlow, plain backend,";
const make = async () =>
  tensorflowExecutor(await loadTensorFlow({ backend: "plain" }), { budgetBytes: 2 ** 28 });

goldenSuite(name, async () => subjectOf(await make()), 1e-4);
// Few rows: this backend is slow, and the native one covers the sizes.
formsSuite(name, make, { tolerance: 1e-4, small: [1, 6], paper: [2] });
trainingSuite(name, make, 1e-4);
