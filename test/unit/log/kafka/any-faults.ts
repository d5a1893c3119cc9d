// Random faults of any request.

import fc from "fast-check";
import type { Fault, Scripted, Step } from "./scripted-link.ts";

const steps: readonly Step[] = [
  ...(["Connect", "FindCoordinator", "InitProducerId", "OffsetFetch", "Metadata"] as const),
  ...(["AddPartitionsToTxn", "Produce", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn"] as const),
];
const passing = [2, 3, 5, 6, 7, 14, 15, 16, 19, 20, 45, 46, 47, 48, 49, 51, 52, 90];

const fault: fc.Arbitrary<Fault> = fc.oneof(
  fc.record({ kind: fc.constant("refused" as const), code: fc.constantFrom(...passing) }),
  fc.record({
    kind: fc.constant("refused" as const),
    code: fc.constantFrom(...passing),
    only: fc.constantFrom("first" as const, "last" as const),
  }),
  fc.record({ kind: fc.constantFrom("request lost" as const, "answer lost" as const) }),
  fc.record({ kind: fc.constant("delayed" as const), behind: fc.nat(40) }),
  fc.record({ kind: fc.constant("closed" as const), isApplied: fc.boolean() }),
  fc.record({ kind: fc.constantFrom("partial" as const, "twice" as const, "unasked" as const) }),
);

const scripted: fc.Arbitrary<Scripted> = fc.record({
  step: fc.constantFrom(...steps),
  nth: fc.nat(12),
  fault,
});

export const anyScript: fc.Arbitrary<Scripted[]> = fc.array(scripted, { maxLength: 25 });
