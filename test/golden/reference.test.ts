// The reference against the authors' numbers, in double precision and through the executor's single precision.

import { referenceExecutor } from "../rig/differentiating-executors.ts";
import { goldenSuite } from "./support/golden-suite.ts";
import { referenceInDoubles, subjectOf } from "./support/subject.ts";

goldenSuite("the reference in double precision", () => referenceInDoubles, 1e-10);
goldenSuite("the reference executor", () => subjectOf(referenceExecutor()), 1e-5);
