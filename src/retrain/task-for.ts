// A wish as a task that can be trained anywhere: it carries the history and says how.

import { cohortName, isCohortKey } from "../models/cohort.ts";
import type { Clock } from "../runtime/clock.ts";
import type { GatherHistories } from "./cohorts.ts";
import type { LaneDesk } from "./lane-desk.ts";
import type { Effort, History, TrainingTask } from "./training-task.ts";
import type { Wish } from "./wishes.ts";

export interface TaskSources {
  readonly settings: { readonly effort: Effort; readonly members: number };
  readonly clock: Clock;
  readonly gather: GatherHistories;
  readonly signal: AbortSignal;
}

/** Null when there is not history enough yet. */
export async function taskFor(wish: Wish, sources: TaskSources): Promise<TrainingTask | null> {
  const { desk, modelKey, reason } = wish;
  const { settings, clock, gather, signal } = sources;
  const histories = await historiesOf(desk, modelKey, gather, signal);
  if (histories.length === 0) return null;
  const series = desk.parts.settingsOf(histories[0].seriesId);
  const rules = desk.parts.rulesOf(series);
  const longest = Math.max(...histories.map(({ values, channels }) => values.length / channels));
  // Of a series it was known before; the members of a cohort had to be gathered first.
  if (reason === "new" && longest < rules.minHistory) return null;
  const requestedAtMs = clock.nowMs();
  return {
    id: `${modelKey}/${requestedAtMs}`,
    ...{ modelKey, reason, histories, requestedAtMs },
    plan: {
      ...{ horizon: series.horizon, season: series.season, form: series.form },
      ...{ effort: settings.effort, members: settings.members },
      holdBack: rules.tailSteps,
      recentFromMs: desk.parts.book.get(modelKey)?.life.driftSinceMs ?? null,
    },
  };
}

/** Of a series, or of all members of a cohort. */
export async function historiesOf(
  desk: LaneDesk,
  modelKey: string,
  gather: GatherHistories,
  signal: AbortSignal,
): Promise<readonly History[]> {
  if (isCohortKey(modelKey)) return gather(cohortName(modelKey), signal);
  const history = desk.parts.historyOf(modelKey);
  return history === null ? [] : [history];
}
