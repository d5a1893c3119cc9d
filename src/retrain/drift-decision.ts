// What is decided about a series' model by its live scores: that it is stale, or fit again.

import { isCohortKey } from "../models/cohort.ts";
import type { Decision } from "./decision.ts";
import { type Assessment, assess } from "./drift.ts";
import type { LaneDesk } from "./lane-desk.ts";
import { servingFacts } from "./shelf.ts";

/** Null when nothing changes. */
export function driftDecision(desk: LaneDesk, seriesId: string): Decision | null {
  const { book, shelf, timesOf, settingsOf } = desk.parts;
  const phase = book.get(seriesId)?.life.phase;
  if ((phase !== "champion" && phase !== "drifting") || isCohortKey(seriesId)) return null;
  const assessment = assessSeries(desk, seriesId);
  const times = timesOf(seriesId);
  if (assessment === null || times === null) return null;
  const { state, reason, numbers } = assessment;
  const about = {
    modelKey: seriesId,
    fromVersion: shelf.of(seriesId)?.facts.version ?? null,
    reason,
    numbers,
  };
  if (phase === "drifting" && state === "fit") return { ...about, kind: "recovered" };
  if (phase === "champion" && state === "stale") {
    // It was noticed some two horizons after it began; of those the later one is sure to be of the new kind.
    const sinceMs = times.newestMs - settingsOf(seriesId).horizon * times.stepMs;
    return { ...about, kind: "drifted", sinceMs };
  }
  return null;
}

/** How the model that serves the series is doing, its own or its cohort's; null without one. */
export function assessSeries({ parts }: LaneDesk, seriesId: string): Assessment | null {
  const { book, shelf, rulesOf, settingsOf } = parts;
  const live = book.get(seriesId);
  const serving = shelf.of(seriesId);
  // The scores begin anew with the first forecast of another version.
  if (live === undefined || serving === undefined || live.version !== serving.facts.version) return null;
  const facts = {
    ...{ scores: live.scores(), cappedMase: live.cappedMase, scoredSlots: live.scoredSlots },
    validationMase: servingFacts(serving).validationMase,
    isStale: live.life.phase === "drifting",
  };
  return assess(facts, rulesOf(settingsOf(seriesId)));
}
