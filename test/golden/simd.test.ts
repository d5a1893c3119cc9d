// The SIMD executor against the authors' numbers and the reference.

import { loadKernel } from "../../src/engine/simd/kernel.ts";
import { simdExecutor } from "../rig/differentiating-executors.ts";
import { formsSuite } from "./support/forms-suite.ts";
import { goldenSuite } from "./support/golden-suite.ts";
import { subjectOf } from "./support/subject.ts";
import { trainingSuite } from "./support/training-suite.ts";

const name = "the simd executor";
const make = async () => simdExecutor(await loadKernel());

goldenSuite(name, async () => subjectOf(await make()), 1e-4);
formsSuite(name, make, { tolerance: 1e-4 });
trainingSuite(name, make, 1e-4);
