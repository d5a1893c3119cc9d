// Evaluates a series or cohort at a turn of the schedule: whether its model has become stale or fit again, and whether it needs
// training. Changes nothing; the retrainer acts on the answers.

import { servingFacts } from "../log/codec/model-record.ts";
import { cohortKey, decidingPartition, isCohortKey } from "../models/cohort.ts";
import type { TrainingReason } from "../training/training-task.ts";
import type { Decision } from "./decision.ts";
import { type Assessment, assess } from "./drift.ts";
import type { PartitionLifecycle } from "./partition-lifecycle.ts";

/** The decision that the model is stale, or fit again; null when nothing changes. */
export function driftDecision(lifecycle: PartitionLifecycle, seriesId: string): Decision | null {
  const { scoreStore, timesOf, settingsOf } = lifecycle.view;
  const phase = scoreStore.get(seriesId)?.life.phase;
  if ((phase !== "champion" && phase !== "drifting") || isCohortKey(seriesId)) return null;
  const assessment = assessSeries(lifecycle, seriesId);
  const times = timesOf(seriesId);
  if (assessment === null || times === null) return null;
  const { state, reason, numbers } = assessment;
  const about = { modelKey: seriesId, fromVersion: lifecycle.servingVersion(seriesId), reason, numbers };
  if (phase === "drifting" && state === "fit") return { ...about, kind: "recovered" };
  if (phase === "champion" && state === "stale") {
    // Drift is found about two horizons after it starts. The second of them certainly belongs to the changed series.
    const sinceMs = times.newestMs - settingsOf(seriesId).horizon * times.stepMs;
    return { ...about, kind: "drifted", sinceMs };
  }
  return null;
}

/** Assesses the model that serves the series, its own or its cohort's; null without one. */
function assessSeries({ view }: PartitionLifecycle, seriesId: string): Assessment | null {
  const { scoreStore, models, rulesOf, settingsOf } = view;
  const live = scoreStore.get(seriesId);
  const serving = models.of(seriesId);
  // Scores restart with the first forecast of another version.
  if (live === undefined || serving === undefined || live.version !== serving.facts.version) return null;
  const facts = {
    scores: live.scores(),
    cappedMase: live.cappedMase,
    scoredSlots: live.scoredSlots,
    validationMase: servingFacts(serving).validationMase,
    isStale: live.life.phase === "drifting",
  };
  return assess(facts, rulesOf(settingsOf(seriesId)));
}

/** A model that should be trained. */
export interface TrainingNeed {
  readonly lifecycle: PartitionLifecycle;
  readonly modelKey: string;
  readonly reason: TrainingReason;
  /** The largest first; compared only among needs of one reason. */
  readonly urgency: number;
}

const rankByReason: Readonly<Record<TrainingReason, number>> = { manual: 0, drift: 1, new: 2, age: 3 };

/** By reason: ordered by hand, stale, never trained, old. Then by urgency. */
export function byRank(one: TrainingNeed, other: TrainingNeed): number {
  return rankByReason[one.reason] - rankByReason[other.reason] || other.urgency - one.urgency;
}

/** Null when the series needs no training, or cannot be trained yet. */
export function trainingNeedOf(lifecycle: PartitionLifecycle, seriesId: string): TrainingNeed | null {
  const { scoreStore, models, settingsOf, rulesOf, timesOf } = lifecycle.view;
  const live = scoreStore.get(seriesId);
  const times = timesOf(seriesId);
  if (live === undefined || times === null || isCohortKey(seriesId)) return null;
  const { phase, restsUntilMs, driftSinceMs, probation } = live.life;
  if (phase === "training" || times.newestMs < restsUntilMs) return null;
  const settings = settingsOf(seriesId);
  const rules = rulesOf(settings);
  const need = (reason: TrainingReason, urgency: number): TrainingNeed => {
    return { lifecycle, modelKey: seriesId, reason, urgency };
  };
  const mase = live.mase ?? 0;
  if (phase === "cold") {
    // A member of a cohort must beat the cohort's model, which takes more history than a first model.
    const needed = settings.cohort === "" ? rules.minHistory : 2 * rules.minHistory;
    return times.steps < needed ? null : need("new", mase);
  }
  const serving = models.get(seriesId);
  if (serving === undefined) return null;
  const { validationMase, trainedToMs } = servingFacts(serving);
  if (phase === "drifting") {
    // Before that, too little of the changed series is there to train on and to judge on.
    const enoughMs = (rules.tailSteps + rules.horizon) * times.stepMs;
    const isEnough = times.newestMs - (driftSinceMs ?? 0) >= enoughMs;
    return isEnough ? need("drift", mase / (validationMase ?? 1)) : null;
  }
  // After a training without a better model, the age counts from that training.
  const ageMs = times.newestMs - Math.max(trainedToMs, restsUntilMs);
  const stepsThen = Math.max(0, times.steps - ageMs / times.stepMs + rules.tailSteps);
  // A model from before that competed with fewer families.
  const isEarly = stepsThen < rules.fullHistory && times.steps >= rules.fullHistory;
  return probation !== null || (ageMs <= rules.maxAgeMs && !isEarly) ? null : need("age", ageMs);
}

/** Needs of the cohorts that one of these partitions decides about. */
export function cohortNeeds(
  lifecycles: readonly PartitionLifecycle[],
  cohorts: readonly string[],
): TrainingNeed[] {
  return cohorts.flatMap((name) => {
    const lifecycle = lifecycles.find(
      ({ view }) => view.partition === decidingPartition(name, view.partitions),
    );
    const need = lifecycle === undefined ? null : needOfCohort(lifecycle, name);
    return need === null ? [] : [need];
  });
}

function needOfCohort(lifecycle: PartitionLifecycle, name: string): TrainingNeed | null {
  const { scoreStore, models, clock, rulesOf, settingsOf } = lifecycle.view;
  const modelKey = cohortKey(name);
  const { phase, restsUntilMs } = scoreStore.of(modelKey).life;
  if (phase === "training" || clock.nowMs() < restsUntilMs) return null;
  const serving = models.get(modelKey);
  if (serving === undefined) return { lifecycle, modelKey, reason: "new", urgency: 0 };
  const stale = staleShare(lifecycle, name);
  if (stale > 0.5) return { lifecycle, modelKey, reason: "drift", urgency: stale };
  const ageMs = clock.nowMs() - servingFacts(serving).trainedAtMs;
  return ageMs > rulesOf(settingsOf(modelKey)).maxAgeMs
    ? { lifecycle, modelKey, reason: "age", urgency: ageMs }
    : null;
}

/** The stale share of the members that the model serves in the deciding partition, as a sample of all. */
function staleShare(lifecycle: PartitionLifecycle, name: string): number {
  const { scoreStore, models, settingsOf } = lifecycle.view;
  const modelKey = cohortKey(name);
  let assessed = 0;
  let stale = 0;
  for (const seriesId of scoreStore.ids()) {
    if (settingsOf(seriesId).cohort !== name || models.of(seriesId)?.facts.modelKey !== modelKey) continue;
    const state = assessSeries(lifecycle, seriesId)?.state ?? "unknown";
    if (state === "unknown") continue;
    assessed++;
    if (state === "stale") stale++;
  }
  return assessed === 0 ? 0 : stale / assessed;
}
