// The part of a task's histories that a training may see: all before the steps held back, or of that only what follows
// a change of the series.

import { parseInterval } from "../../models/interval.ts";
import type { History, TrainingTask } from "../training-task.ts";
import { firstPart } from "./folds.ts";
import type { TrainingSeries } from "./training-series.ts";

export interface TaskPart {
  readonly series: readonly TrainingSeries[];
  /** Times of the oldest and newest slot among them. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** What makes a task impossible, whatever its histories hold; null when nothing does. */
export function problemOf({ histories, plan }: TrainingTask): string | null {
  const { horizon, season, members, holdBack } = plan;
  for (const [name, value, least] of [
    ["horizon", horizon, 1],
    ["season", season, 1],
    ["members", members, 1],
    ["holdBack", holdBack, 0],
  ] as const) {
    if (!Number.isInteger(value) || value < least) {
      return `${name} is ${value}; expected is a whole number, ${least} or more`;
    }
  }
  if (histories.length === 0) return "the task has no history; expected is one or more";
  const channels = [...new Set(histories.map((history) => history.channels))];
  if (channels.length > 1) {
    return `the histories have ${channels.sort((a, b) => a - b).join(" and ")} channels; expected is one number for all`;
  }
  return histories.map(historyProblem).find((problem) => problem !== null) ?? null;
}

function historyProblem({ seriesId, channels, values, filled, interval }: History): string | null {
  const name = `the history of ${seriesId}`;
  const steps = values.length / channels;
  if (!Number.isInteger(steps)) {
    return `${name} has ${values.length} values; expected is a multiple of its ${channels} channels`;
  }
  const infinite = values.findIndex((value) => Math.abs(value) === Number.POSITIVE_INFINITY);
  if (infinite >= 0) {
    return `${name} has ${values[infinite]} at step ${Math.floor(infinite / channels)}; expected are numbers, or NaN in a gap`;
  }
  if (filled !== null && filled.length !== steps) {
    return `${name} has ${filled.length} marks of filled slots; expected are ${steps}, one a slot`;
  }
  try {
    parseInterval(interval);
    return null;
  } catch (error) {
    return `${name}: ${(error as Error).message}`;
  }
}

/** All that may be learnt from, or of that what lies at or after a time; members with nothing to learn from are left out. */
export function partOf({ histories, plan }: TrainingTask, sinceMs: number | null): TaskPart | null {
  const cuts = histories.map((history) => cut(history, plan.holdBack, sinceMs)).filter((one) => one !== null);
  if (cuts.length === 0) return null;
  return {
    series: cuts.map(({ series }) => series),
    fromMs: Math.min(...cuts.map(({ fromMs }) => fromMs)),
    toMs: Math.max(...cuts.map(({ toMs }) => toMs)),
  };
}

interface Cut {
  readonly series: TrainingSeries;
  readonly fromMs: number;
  readonly toMs: number;
}

function cut(history: History, holdBack: number, sinceMs: number | null): Cut | null {
  const { channels, values, filled } = history;
  const to = values.length / channels - holdBack;
  const timeOf = slotTimes(history);
  let from = 0;
  while (sinceMs !== null && from < to && timeOf(from) < sinceMs) from++;
  if (to - from < 1) return null;
  const series = {
    values: values.subarray(from * channels, to * channels),
    filled: filled === null ? null : filled.subarray(from, to),
  };
  return isUsable(series, channels) ? { series, fromMs: timeOf(from), toMs: timeOf(to - 1) } : null;
}

/** Each channel has a value in the part that the first fold learns from: without one there is no scale. */
function isUsable({ values }: TrainingSeries, channels: number): boolean {
  const end = channels * Math.floor((values.length / channels) * firstPart);
  return Array.from({ length: channels }, (_, c) => c).every((c) => {
    for (let i = c; i < end; i += channels) if (Number.isFinite(values[i])) return true;
    return false;
  });
}

function slotTimes({ interval, firstTimeMs }: History): (slot: number) => number {
  const steps = parseInterval(interval);
  const first = steps.indexOf(firstTimeMs, 0);
  // A grid may be shifted against the clock, and its first slot says by how much.
  const offsetMs = firstTimeMs - steps.timeOf(first, 0);
  return (slot) => steps.timeOf(first + slot, offsetMs);
}
