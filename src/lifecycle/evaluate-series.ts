// Evaluates a series or cohort at a turn of the schedule: whether its model has become stale or fit again, and whether it needs
// training. Changes nothing; the retrainer acts on the answers.

import { setImmediate } from "node:timers/promises";
import { servingFacts } from "../log/codec/model-record.ts";
import { cohortKey, decidingPartition, isCohortKey } from "../models/cohort.ts";
import { isResting, type Life, lineOf } from "../models/life.ts";
import type { TrainingReason } from "../training/training-task.ts";
import type { Decision } from "./decision.ts";
import { type Assessment, assess } from "./drift.ts";
import { kindOf } from "./net-gains.ts";
import type { PartitionLifecycle } from "./partition-lifecycle.ts";
import type { SeriesTimes } from "./partition-view.ts";
import { heldBackSteps, type RetrainRules } from "./rules.ts";

/** Series evaluated between two turns of the event loop. */
export const seriesPerTurn = 500;

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
  if (live === undefined || serving === undefined || live.version !== lineOf(serving.facts.version))
    return null;
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
  readonly family: string;
  /** The largest first; compared only among needs of one reason. */
  readonly urgency: number;
}

const rankByReason: Readonly<Record<TrainingReason, number>> = {
  manual: 0,
  drift: 1,
  new: 2,
  refresh: 3,
  upgrade: 4,
  age: 5,
};

/** By reason: ordered by hand, stale, never trained, due to be refreshed, linear where nets may be better, old. Then by urgency. */
export function byRank(one: TrainingNeed, other: TrainingNeed): number {
  return rankByReason[one.reason] - rankByReason[other.reason] || other.urgency - one.urgency;
}

/**
 * Null when the series needs no training, or cannot be trained yet. `promiseOf`: what nets may gain for series of a kind; null
 * when that is too little.
 */
export function trainingNeedOf(
  lifecycle: PartitionLifecycle,
  seriesId: string,
  promiseOf: (kind: string) => number | null,
): TrainingNeed | null {
  const { scoreStore, models, settingsOf, rulesOf, timesOf } = lifecycle.view;
  const live = scoreStore.get(seriesId);
  const times = timesOf(seriesId);
  if (live === undefined || times === null || isCohortKey(seriesId)) return null;
  const { phase, restsUntilMs, driftSinceMs, probation } = live.life;
  if (phase === "training" || isResting(live.life, times.newestMs)) return null;
  const settings = settingsOf(seriesId);
  const rules = rulesOf(settings);
  const { firstFamily, bestFamily, maxAgeMs } = rules;
  const need = (reason: TrainingReason, family: string, urgency: number): TrainingNeed => {
    return { lifecycle, modelKey: seriesId, reason, family, urgency };
  };
  const mase = live.mase ?? 0;
  const promise = (validation: typeof noModel) =>
    mayUpgrade(live.life, times, rules) ? promiseOf(kindOf(rules, validation)) : null;
  if (phase === "cold") {
    // A member of a cohort must beat the cohort's model, which takes more history than a first model.
    const needed = settings.cohort === "" ? rules.minHistory : 2 * rules.minHistory;
    if (times.steps < needed) return null;
    // It rests only after a training: its linear model was refused.
    const gain = restsUntilMs !== 0 ? promise(noModel) : null;
    return gain === null ? need("new", firstFamily, mase) : need("upgrade", bestFamily, gain);
  }
  const serving = models.get(seriesId);
  if (serving === undefined) return null;
  const { validationMase, trainedToMs } = servingFacts(serving);
  const { family, validation } = serving.facts;
  if (phase === "drifting") {
    // Before that, too little of the changed series is there to train on and to judge on.
    const enoughMs = (rules.tailSteps + rules.horizon) * times.stepMs;
    const isEnough = times.newestMs - (driftSinceMs ?? 0) >= enoughMs;
    // A linear model is replaced by one that sees the change as soon as possible; nets compete again afterwards.
    return isEnough
      ? need("drift", family === firstFamily ? firstFamily : bestFamily, mase / (validationMase ?? 1))
      : null;
  }
  if (probation !== null) return null;
  const gain = family === firstFamily ? promise(validation) : null;
  // Beside the newest data, a model lacks the steps that were held back for the gate.
  const unseenSteps = (times.newestMs - trainedToMs) / times.stepMs - heldBackSteps(rules, times.steps);
  // An upgrade includes a new linear model, but may have to wait for its share of the budget.
  const refreshSteps = (gain === null ? 1 : upgradeWaits) * rules.refreshSteps;
  if (family === "linear" && unseenSteps >= refreshSteps) return need("refresh", family, unseenSteps);
  if (gain !== null) return need("upgrade", bestFamily, gain);
  // After a training without a better model, the age counts from that training.
  const ageMs = times.newestMs - Math.max(trainedToMs, restsUntilMs || trainedToMs);
  return ageMs <= maxAgeMs ? null : need("age", family === firstFamily ? firstFamily : bestFamily, ageMs);
}

/** A series whose nets have waited for so many times the usual steps has its linear model refreshed meanwhile. */
const upgradeWaits = 4;

/** A series without a model has left all of seasonal-naive's error. */
const noModel = { mase: 1, baselineMase: 1 };

/** True when the best family, if there is another one than the first, has not competed for so long, or not at all. */
function mayUpgrade({ competedMs }: Life, { steps, newestMs }: SeriesTimes, rules: RetrainRules): boolean {
  const { firstFamily, bestFamily, bestHistory, maxAgeMs } = rules;
  if (firstFamily === bestFamily || steps < bestHistory) return false;
  return competedMs === null || newestMs - competedMs > maxAgeMs;
}

/** Needs of the cohorts that one of these partitions decides about. */
export async function cohortNeeds(
  lifecycles: readonly PartitionLifecycle[],
  cohorts: readonly string[],
): Promise<readonly TrainingNeed[]> {
  const needs: TrainingNeed[] = [];
  for (const name of cohorts) {
    const lifecycle = lifecycles.find(
      ({ view }) => view.partition === decidingPartition(name, view.partitions),
    );
    const need = lifecycle === undefined ? null : await needOfCohort(lifecycle, name);
    if (need !== null) needs.push(need);
  }
  return needs;
}

async function needOfCohort(lifecycle: PartitionLifecycle, name: string): Promise<TrainingNeed | null> {
  const { scoreStore, models, clock, rulesOf, settingsOf } = lifecycle.view;
  const modelKey = cohortKey(name);
  const { life } = scoreStore.of(modelKey);
  if (life.phase === "training" || isResting(life, clock.nowMs())) return null;
  const serving = models.get(modelKey);
  const { maxAgeMs, bestFamily: family } = rulesOf(settingsOf(modelKey));
  // One model for many series is worth nets from the start.
  if (serving === undefined) return { lifecycle, modelKey, family, reason: "new", urgency: 0 };
  const stale = await staleShare(lifecycle, name);
  if (stale > 0.5) return { lifecycle, modelKey, family, reason: "drift", urgency: stale };
  const ageMs = clock.nowMs() - servingFacts(serving).trainedAtMs;
  return ageMs > maxAgeMs ? { lifecycle, modelKey, family, reason: "age", urgency: ageMs } : null;
}

/** The stale share of the members that the model serves in the deciding partition, as a sample of all. */
async function staleShare(lifecycle: PartitionLifecycle, name: string): Promise<number> {
  const { scoreStore, models, settingsOf } = lifecycle.view;
  const modelKey = cohortKey(name);
  let looked = 0;
  let assessed = 0;
  let stale = 0;
  for (const seriesId of scoreStore.ids()) {
    if (++looked % seriesPerTurn === 0) await setImmediate();
    if (settingsOf(seriesId).cohort !== name || models.of(seriesId)?.facts.modelKey !== modelKey) continue;
    const state = assessSeries(lifecycle, seriesId)?.state ?? "unknown";
    if (state === "unknown") continue;
    assessed++;
    if (state === "stale") stale++;
  }
  return assessed === 0 ? 0 : stale / assessed;
}
