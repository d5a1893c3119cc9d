// A model event for tests.

import type { ModelEventRecord } from "../../../../src/log/codec/schemas.generated.ts";

export function modelEvent(changes: Partial<ModelEventRecord>): ModelEventRecord {
  return {
    id: "pump-1/promoted/v1/0",
    modelKey: "pump-1",
    kind: "PROMOTED",
    fromVersion: null,
    toVersion: "v1",
    reason: "better than seasonal-naive by 38 %",
    numbers: {},
    time: 0,
    ...changes,
  };
}
