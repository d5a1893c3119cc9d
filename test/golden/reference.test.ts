// The reference against the authors' numbers, in double precision and through the executor's single precision.

import { createReferenceExecutor } from "../../src/engine/reference/reference-executor.ts";
import { goldenSuite } from "./support/golden-suite.ts";
import { referenceInDoubles, subjectOf } from "./support/subject.ts";

goldenSuite("the reference in double precision", () => referenceInDoubles, 1e-10);
goldenSuite("the reference executor", () => subjectOf(createReferenceExecutor()), 1e-5);
