// Which models should be trained, and in what order: asked for by hand, stale, never trained, old; among equals the
// worst first.

import { isCohortKey } from "../models/cohort.ts";
import type { LaneDesk } from "./lane-desk.ts";
import { servingFacts } from "./shelf.ts";
import type { TrainingReason } from "./training-task.ts";

export interface Wish {
  readonly desk: LaneDesk;
  readonly modelKey: string;
  readonly reason: TrainingReason;
  /** The larger, the sooner; compared only among wishes of one reason. */
  readonly urgency: number;
}

const rankByReason: Readonly<Record<TrainingReason, number>> = { manual: 0, drift: 1, new: 2, age: 3 };

export function byRank(one: Wish, other: Wish): number {
  return rankByReason[one.reason] - rankByReason[other.reason] || other.urgency - one.urgency;
}

/** Null when the series needs no training, or has none coming yet. */
export function wishOf(desk: LaneDesk, seriesId: string): Wish | null {
  const { book, shelf, settingsOf, rulesOf, timesOf } = desk.parts;
  const live = book.get(seriesId);
  const times = timesOf(seriesId);
  if (live === undefined || times === null || isCohortKey(seriesId)) return null;
  const { phase, restsUntilMs, driftSinceMs, probation } = live.life;
  if (phase === "training" || times.newestMs < restsUntilMs) return null;
  const settings = settingsOf(seriesId);
  const rules = rulesOf(settings);
  const wish = (reason: TrainingReason, urgency: number): Wish => ({
    ...{ desk, modelKey: seriesId, reason, urgency },
  });
  const mase = live.scores()?.mase ?? 0;
  if (phase === "cold") {
    // A member of a cohort has a model to beat: that takes more history than to have one at all.
    const needed = settings.cohort === "" ? rules.minHistory : 2 * rules.minHistory;
    return times.steps < needed ? null : wish("new", mase);
  }
  const serving = shelf.get(seriesId);
  if (serving === undefined) return null;
  const { validationMase, trainedToMs } = servingFacts(serving);
  if (phase === "drifting") {
    // Sooner there is too little of the new kind to learn from and to be judged on.
    const enoughMs = (rules.tailSteps + rules.horizon) * times.stepMs;
    const isEnough = times.newestMs - (driftSinceMs ?? 0) >= enoughMs;
    return isEnough ? wish("drift", mase / (validationMase ?? 1)) : null;
  }
  // A training that gave nothing better is not tried again before the model is as old once more.
  const ageMs = times.newestMs - Math.max(trainedToMs, restsUntilMs);
  return probation !== null || ageMs <= rules.maxAgeMs ? null : wish("age", ageMs);
}
