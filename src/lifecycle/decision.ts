// Decisions about models, with the numbers behind them. A decision is made between batches and takes effect at the start of
// the next one, so the owner of the series commits it once, with that batch. This file defines what can be decided, how a
// decision changes the phase of a series, and the event that reports it.

import type { ModelEventKindSymbol, ModelEventRecord, ModelRecord } from "../log/codec/schemas.generated.ts";
import { type Life, moveLife, type Phase } from "../models/life.ts";
import type { TrainingTask } from "../training/training-task.ts";

interface Decided {
  /** A series id, or the key of a cohort. */
  readonly modelKey: string;
  /** The version that served when this was decided; null for none. If another one serves now, the decision is void. */
  readonly fromVersion: string | null;
  /** For people. */
  readonly reason: string;
  readonly numbers: Readonly<Record<string, number>>;
  /** Pending records of the model that this decision answers; deleted with it. */
  readonly answers?: readonly PendingKind[];
  /** Ordered by hand. A refusal then changes nothing else about the series. */
  readonly isByHand?: boolean;
}

export type PendingKind = "outcome" | "order";

export type Decision = Decided &
  (
    | { readonly kind: "drifted" /** Event time. */; readonly sinceMs: number }
    | { readonly kind: "recovered" }
    /** With a `task`, the training is requested from a trainer, and the request is written with the decision. */
    | {
        readonly kind: "requested";
        readonly requestId: string;
        readonly task: TrainingTask | null;
        /** All families compete in the training. */
        readonly competes: boolean;
      }
    | { readonly kind: "failed" }
    | { readonly kind: "refused"; readonly toVersion: string | null }
    /** The record contains its predecessor. A refreshed model goes on where its predecessor was, without a probation. */
    | {
        readonly kind: "promoted";
        readonly record: ModelRecord;
        readonly predecessorMase: number | null;
        readonly isRefresh: boolean;
      }
    | { readonly kind: "confirmed" }
    /** Null: the series is cold again. */
    | { readonly kind: "rolled-back"; readonly record: ModelRecord | null }
    | { readonly kind: "retired" }
  );

export type DecisionKind = Decision["kind"];

interface Circumstances {
  /** Wall time. */
  readonly nowMs: number;
  /** Event time of the series' newest observation. */
  readonly newestMs: number;
  /** Event time without another training after this one. */
  readonly restMs: number;
  /** Whether the series has a model of its own after the decision. */
  readonly hasModel: boolean;
  /** A cohort has no scores of its own, so no probation. */
  readonly isCohort: boolean;
}

export function lifeAfter(decision: Decision, life: Life, circumstances: Circumstances): Life {
  const { nowMs, newestMs, restMs, hasModel, isCohort } = circumstances;
  const verdict = `${decision.kind}: ${decision.reason}`;
  const rested = { requestId: null, restsUntilMs: newestMs + restMs, verdict };
  const move = (to: Phase, changes: Partial<Life>) => moveLife(life, to, nowMs, changes);
  switch (decision.kind) {
    case "drifted":
      return move("drifting", { driftSinceMs: decision.sinceMs, competedMs: null, verdict });
    case "recovered":
      return move("champion", { driftSinceMs: null, verdict });
    case "requested":
      return move("training", {
        requestId: decision.requestId,
        ...(decision.competes && { competedMs: newestMs }),
        verdict,
      });
    case "failed":
    case "refused":
      // A training in progress for another reason continues.
      if (decision.isByHand) return { ...life, verdict };
      if (!hasModel) return move("cold", { ...rested, driftSinceMs: null, probation: null });
      return move(life.driftSinceMs === null ? "champion" : "drifting", rested);
    case "promoted": {
      const { predecessorMase } = decision;
      const probation = isCohort || decision.isRefresh ? null : { predecessorMase, sinceMs: newestMs };
      return move("champion", { ...rested, driftSinceMs: null, probation });
    }
    case "confirmed":
      return { ...life, probation: null, verdict };
    case "rolled-back":
      return move(decision.record === null ? "cold" : "champion", {
        ...rested,
        driftSinceMs: null,
        probation: null,
      });
    case "retired":
      return move("cold", { ...rested, driftSinceMs: null, probation: null });
  }
}

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
