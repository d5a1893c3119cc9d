// The reference against the authors' numbers, in doubles and through the executor's single-precision contract.

import { createReferenceExecutor } from "../../src/engine/reference/reference-executor.ts";
import { goldenSuite } from "./support/golden-suite.ts";
import { referenceInDoubles, subjectOf } from "./support/subject.ts";

goldenSuite("the reference in doubles", () => referenceInDoubles, 1e-10);
goldenSuite("the reference executor", () => subjectOf(createReferenceExecutor()), 1e-5);
