// Trainings that were chosen and wait for their random delay and a free place, one per model. Also builds the task of a
// training, which carries the histories and the plan, so that it can run anywhere.

import type { History } from "../domain.ts";
import { cohortName, isCohortKey } from "../models/cohort.ts";
import type { Effort } from "../models/family.ts";
import type { Clock } from "../runtime/clock.ts";
import type { TrainingTask } from "../training/training-task.ts";
import { byRank, type TrainingNeed } from "./evaluate-series.ts";
import type { PartitionLifecycle } from "./partition-lifecycle.ts";
import { settingsFor } from "./partition-view.ts";
import { heldBackSteps } from "./rules.ts";

interface BacklogRules {
  readonly clock: Clock;
  /** Maximum random delay before a training starts, so that a fleet does not train all at once. */
  readonly jitterMs: number;
  /** Between 0 and 1. */
  readonly random: () => number;
}

interface Planned {
  readonly need: TrainingNeed;
  readonly startMs: number;
}

export class TrainingBacklog {
  readonly #rules: BacklogRules;
  /** The most urgent first, once it is ordered. */
  #plannedByKey = new Map<string, Planned>();
  #isOrdered = true;

  constructor(rules: BacklogRules) {
    this.#rules = rules;
  }

  get size(): number {
    return this.#plannedByKey.size;
  }

  has(modelKey: string): boolean {
    return this.#plannedByKey.has(modelKey);
  }

  /** Replaces what was planned for the model before. */
  add(need: TrainingNeed): void {
    const { clock, jitterMs, random } = this.#rules;
    // Somebody waits for a training that was ordered by hand.
    const delayMs = need.reason === "manual" ? 0 : jitterMs * random();
    this.#plannedByKey.set(need.modelKey, { need, startMs: clock.nowMs() + delayMs });
    this.#isOrdered = false;
  }

  /** Removes and returns the due needs, the most urgent first, at most as many as there are places. */
  takeDue(places: number, isFree: (need: TrainingNeed) => boolean): readonly TrainingNeed[] {
    const nowMs = this.#rules.clock.nowMs();
    const due: TrainingNeed[] = [];
    if (!this.#isOrdered) this.#order();
    for (const { need, startMs } of this.#plannedByKey.values()) {
      if (!isVoid(need)) {
        if (due.length >= places || startMs > nowMs || !isFree(need)) continue;
        due.push(need);
      }
      this.#plannedByKey.delete(need.modelKey);
    }
    return due;
  }

  /** Places become free far more often than trainings are added. */
  #order(): void {
    const planned = [...this.#plannedByKey].sort(([, one], [, other]) => byRank(one.need, other.need));
    this.#plannedByKey = new Map(planned);
    this.#isOrdered = true;
  }
}

/** True when the partition is lost or the series was forgotten; it had scores or an order when this was planned. */
function isVoid({ lifecycle: { view, orders }, modelKey }: TrainingNeed): boolean {
  const isKnown = view.scoreStore.get(modelKey) !== undefined || orders.has(modelKey);
  return view.lost.aborted || !isKnown;
}

/** Reads the histories of all members of a cohort. */
export type GatherHistories = (cohort: string, signal: AbortSignal) => Promise<readonly History[]>;

interface TaskSources {
  readonly settings: { readonly effort: Effort; readonly members: number };
  readonly clock: Clock;
  readonly gather: GatherHistories;
  readonly signal: AbortSignal;
}

/** Null when there is too little history. */
export async function taskFor(need: TrainingNeed, sources: TaskSources): Promise<TrainingTask | null> {
  const { lifecycle, modelKey, reason, family } = need;
  const { settings, clock, gather, signal } = sources;
  const { rulesOf, scoreStore, models } = lifecycle.view;
  lifecycle.view.reconsiderSeasons(modelKey);
  const histories = await historiesOf(lifecycle, modelKey, gather, signal);
  if (histories.length === 0) return null;
  const series = settingsFor(lifecycle.view, modelKey, histories);
  const rules = rulesOf(series);
  const longest = Math.max(...histories.map(({ values, channels }) => values.length / channels));
  // For a series this was checked before; the members of a cohort had to be read first.
  if (reason === "new" && longest < rules.minHistory) return null;
  const requestedAtMs = clock.nowMs();
  const refreshed = lifecycle.servingVersion(modelKey);
  const champion = models.of(modelKey)?.model;
  return {
    id: `${modelKey}/${requestedAtMs}`,
    modelKey,
    reason,
    histories,
    requestedAtMs,
    ...(champion && { champion }),
    plan: {
      family,
      horizon: series.horizon,
      season: series.season,
      form: series.form,
      effort: settings.effort,
      members: settings.members,
      holdBack: heldBackSteps(rules, longest),
      recentFromMs: scoreStore.get(modelKey)?.life.driftSinceMs ?? null,
      ...(reason === "refresh" && refreshed !== null && { refreshes: refreshed }),
    },
  };
}

/** Of a series, or of all members of a cohort. */
export async function historiesOf(
  lifecycle: PartitionLifecycle,
  modelKey: string,
  gather: GatherHistories,
  signal: AbortSignal,
): Promise<readonly History[]> {
  if (isCohortKey(modelKey)) return gather(cohortName(modelKey), signal);
  const history = lifecycle.view.historyOf(modelKey);
  return history === null ? [] : [history];
}
