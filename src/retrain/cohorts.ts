// Models that several series share. Each cohort has one home, the lane of one partition, which decides about its
// model; the other lanes hear of it by the models topic.

import { cohortKey } from "../models/cohort.ts";
import { homeOf } from "./cohort-home.ts";
import { assessSeries } from "./drift-decision.ts";
import type { LaneDesk } from "./lane-desk.ts";
import { servingFacts } from "./shelf.ts";
import type { History } from "./training-task.ts";
import type { Wish } from "./wishes.ts";

/** The histories of all members of a cohort, wherever they live. */
export type GatherHistories = (cohort: string, signal: AbortSignal) => Promise<readonly History[]>;

/** What the cohorts need whose home is one of these lanes. */
export function cohortWishes(desks: readonly LaneDesk[], cohorts: readonly string[]): Wish[] {
  return cohorts.flatMap((name) => {
    const desk = desks.find(({ parts }) => parts.partition === homeOf(name, parts.partitions));
    const wish = desk === undefined ? null : wishOfCohort(desk, name);
    return wish === null ? [] : [wish];
  });
}

function wishOfCohort(desk: LaneDesk, name: string): Wish | null {
  const { book, shelf, clock, rulesOf, settingsOf } = desk.parts;
  const modelKey = cohortKey(name);
  const { phase, restsUntilMs } = book.of(modelKey).life;
  if (phase === "training" || clock.nowMs() < restsUntilMs) return null;
  const serving = shelf.get(modelKey);
  if (serving === undefined) return { desk, modelKey, reason: "new", urgency: 0 };
  const stale = staleShare(desk, name);
  if (stale > 0.5) return { desk, modelKey, reason: "drift", urgency: stale };
  const ageMs = clock.nowMs() - servingFacts(serving).trainedAtMs;
  return ageMs > rulesOf(settingsOf(modelKey)).maxAgeMs
    ? { desk, modelKey, reason: "age", urgency: ageMs }
    : null;
}

/** Of the members in the home's own partition, a sample of all, that the model serves and that can be judged. */
function staleShare(desk: LaneDesk, name: string): number {
  const { book, shelf, settingsOf } = desk.parts;
  const modelKey = cohortKey(name);
  let judged = 0;
  let stale = 0;
  for (const seriesId of book.ids()) {
    if (settingsOf(seriesId).cohort !== name || shelf.of(seriesId)?.facts.modelKey !== modelKey) continue;
    const state = assessSeries(desk, seriesId)?.state ?? "unknown";
    if (state === "unknown") continue;
    judged++;
    if (state === "stale") stale++;
  }
  return judged === 0 ? 0 : stale / judged;
}
