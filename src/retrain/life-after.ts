// What a decision makes of a series' life.

import type { Decision } from "./decision.ts";
import { type LifeFacts, moveLife, type Phase } from "./life.ts";

export interface Circumstances {
  /** Wall time. */
  readonly nowMs: number;
  /** Event time of the series' newest observation. */
  readonly newestMs: number;
  /** How long the series rests after a training, in event time. */
  readonly restMs: number;
  /** Whether the series has a model of its own, the decision's already in place. */
  readonly hasModel: boolean;
  /** A cohort has no scores of its own, and so no probation. */
  readonly isCohort: boolean;
}

export function lifeAfter(decision: Decision, life: LifeFacts, circumstances: Circumstances): LifeFacts {
  const { nowMs, newestMs, restMs, hasModel, isCohort } = circumstances;
  const verdict = `${decision.kind}: ${decision.reason}`;
  const rested = { requestId: null, restsUntilMs: newestMs + restMs, verdict };
  const move = (to: Phase, changes: Partial<LifeFacts>) => moveLife(life, to, nowMs, changes);
  switch (decision.kind) {
    case "drifted":
      return move("drifting", { driftSinceMs: decision.sinceMs, verdict });
    case "recovered":
      return move("champion", { driftSinceMs: null, verdict });
    case "requested":
      return move("training", { requestId: decision.requestId, verdict });
    case "failed":
    case "refused":
      // A training that is under way for other reasons goes on.
      if (decision.isByHand) return { ...life, verdict };
      if (!hasModel) return move("cold", { ...rested, driftSinceMs: null, probation: null });
      return move(life.driftSinceMs === null ? "champion" : "drifting", rested);
    case "promoted": {
      const { predecessorMase } = decision;
      const probation = isCohort ? null : { predecessorMase, sinceMs: newestMs };
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
