// A decision as the event that tells of it.

import type { ModelEventKindSymbol, ModelEventRecord } from "../log/codec/schemas.generated.ts";
import type { Decision, DecisionKind } from "./decision.ts";

const symbolByKind: Readonly<Record<DecisionKind, ModelEventKindSymbol>> = {
  drifted: "DRIFTED",
  recovered: "RECOVERED",
  requested: "REQUESTED",
  failed: "FAILED",
  refused: "REFUSED",
  promoted: "PROMOTED",
  confirmed: "CONFIRMED",
  "rolled-back": "ROLLED_BACK",
  retired: "RETIRED",
};

export function toEvent(decision: Decision, timeMs: number): ModelEventRecord {
  const { modelKey, kind, fromVersion, reason } = decision;
  const toVersion = toVersionOf(decision);
  return {
    id: `${modelKey}/${kind}/${toVersion ?? fromVersion ?? "cold"}/${timeMs}`,
    modelKey,
    kind: symbolByKind[kind],
    fromVersion,
    toVersion,
    reason,
    numbers: decision.numbers,
    time: timeMs,
  };
}

/** The version that serves from now on, or was refused. */
export function toVersionOf(decision: Decision): string | null {
  switch (decision.kind) {
    case "promoted":
      return decision.record.version;
    case "rolled-back":
      return decision.record?.version ?? null;
    case "refused":
      return decision.toVersion;
    default:
      return null;
  }
}
