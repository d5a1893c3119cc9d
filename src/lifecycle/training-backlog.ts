// Trainings that were chosen as the most urgent, and wait for their random delay and a free place, one per model. Also builds
// the task of a training, which carries the histories and the plan, so that it can run anywhere.

import type { History } from "../domain.ts";
import { cohortName, isCohortKey } from "../models/cohort.ts";
import type { Effort } from "../models/family.ts";
import type { Clock } from "../runtime/clock.ts";
import { Heap } from "../runtime/heap.ts";
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

/** The most urgent of very many needs. Among equals, the first. */
export class MostUrgent {
  readonly #most: number;
  /** The least urgent first. */
  readonly #chosen = new Heap<OfferedNeed>(
    (one, other) => byRank(other.need, one.need) || other.place - one.place,
  );
  #offered = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get offered(): number {
    return this.#offered;
  }

  offer(need: TrainingNeed): void {
    this.#chosen.add({ need, place: this.#offered++ });
    if (this.#chosen.size > this.#most) this.#chosen.take();
  }

  /** In the order in which they were offered. */
  needs(): readonly TrainingNeed[] {
    const chosen = [...this.#chosen.items()].sort((one, other) => one.place - other.place);
    return chosen.map(({ need }) => need);
  }
}

interface OfferedNeed {
  readonly need: TrainingNeed;
  readonly place: number;
}

/** Planned trainings of which each call checks whether they are still wanted. A backlog may hold a hundred thousand. */
const checkedPerCall = 500;

export class TrainingBacklog {
  readonly #rules: BacklogRules;
  readonly #plannedByKey = new Map<string, Planned>();
  /** Those whose delay has not passed. What is no longer planned is dropped when it is taken. */
  readonly #delayed = new Heap<Planned>((one, other) => one.startMs - other.startMs);
  /** The others, the most urgent first. */
  readonly #due = new Heap<Planned>((one, other) => byRank(one.need, other.need));
  #checked: Iterator<Planned>;

  constructor(rules: BacklogRules) {
    this.#rules = rules;
    this.#checked = this.#plannedByKey.values();
  }

  /** May include, for a while, some whose partition was lost or whose series was forgotten. */
  get size(): number {
    return this.#plannedByKey.size;
  }

  has(modelKey: string): boolean {
    const planned = this.#plannedByKey.get(modelKey);
    return planned !== undefined && !isVoid(planned.need);
  }

  /** Replaces what was planned for the model before. */
  add(need: TrainingNeed): void {
    const { clock, jitterMs, random } = this.#rules;
    // Somebody waits for a training that was ordered by hand.
    const delayMs = need.reason === "manual" ? 0 : jitterMs * random();
    const planned = { need, startMs: clock.nowMs() + delayMs };
    this.#plannedByKey.set(need.modelKey, planned);
    this.#delayed.add(planned);
  }

  /** Removes and returns the due needs, the most urgent first, at most as many as there are places. */
  takeDue(places: number, isFree: (need: TrainingNeed) => boolean): readonly TrainingNeed[] {
    this.#dropVoid();
    const nowMs = this.#rules.clock.nowMs();
    while ((this.#delayed.first?.startMs ?? Number.POSITIVE_INFINITY) <= nowMs)
      this.#due.add(this.#delayed.take() as Planned);
    const taken: TrainingNeed[] = [];
    const later: Planned[] = [];
    while (taken.length < places) {
      const planned = this.#due.take();
      if (planned === undefined) break;
      const { need } = planned;
      if (this.#plannedByKey.get(need.modelKey) !== planned) continue;
      if (!isVoid(need) && !isFree(need)) {
        later.push(planned);
        continue;
      }
      this.#plannedByKey.delete(need.modelKey);
      if (!isVoid(need)) taken.push(need);
    }
    for (const planned of later) this.#due.add(planned);
    return taken;
  }

  /** Goes on where the last call ended, and starts again after the last. */
  #dropVoid(): void {
    // One more, because reaching the end takes a step as well.
    for (let left = Math.min(checkedPerCall, this.size) + 1; left > 0; left--) {
      const next = this.#checked.next();
      if (next.done) this.#checked = this.#plannedByKey.values();
      else if (isVoid(next.value.need)) this.#plannedByKey.delete(next.value.need.modelKey);
    }
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
