// What is worth showing of a series' stored live state. The sums and the calibration are let go at once: those of a
// large fleet would fill the memory.

import type { LiveScores } from "../../domain.ts";
import type { LiveStateRecord } from "../../log/codec/schemas.generated.ts";
import { readState, storedScores } from "../../retrain/live/stored-records.ts";

export interface LiveFacts
  extends Pick<
    LiveStateRecord,
    "modelVersion" | "phase" | "phaseSince" | "driftSince" | "requestId" | "probation" | "verdict"
  > {
  /** Null until forecasts have matured. */
  readonly scores: LiveScores | null;
}

/** Throws STATE_CORRUPT when the bytes are no live state of a release we know. */
export function readLiveFacts(value: Buffer): LiveFacts {
  const stored = readState(value, "live state");
  const { modelVersion, phase, phaseSince, driftSince, requestId, probation, verdict } = stored.record;
  return {
    ...{ modelVersion, phase, phaseSince, driftSince, requestId, probation, verdict },
    scores: storedScores(stored),
  };
}
