// Decisions about trainings that come to nothing: never begun, or never ended.

import type { Decision } from "./decision.ts";
import type { LaneDesk } from "./lane-desk.ts";

export function servingVersion({ parts }: LaneDesk, modelKey: string): string | null {
  return parts.shelf.of(modelKey)?.facts.version ?? null;
}

/** `isLost`: whoever trained it was this worker, or the owner before it. */
export function givenUp(desk: LaneDesk, modelKey: string, isLost: boolean): Decision {
  const reason = isLost ? "the worker that trained it is gone" : "no trainer has answered in time";
  return { kind: "failed", modelKey, fromVersion: servingVersion(desk, modelKey), reason, numbers: {} };
}

/** Asked for by hand, and cannot be begun. */
export function refusedRetrain(desk: LaneDesk, modelKey: string, reason: string): Decision {
  const about = { modelKey, fromVersion: servingVersion(desk, modelKey), numbers: {} };
  return { ...about, kind: "refused", toVersion: null, reason, isByHand: true, settles: ["order"] };
}
