// Where forecasters are judged: the origins of a history whose targets nobody has seen, and which targets count. It
// depends on the history and on how far back the contestants look, never on what they forecast: all meet the same.

import { seasonalErrorSteps } from "../../models/error-sample.ts";
import { parseInterval } from "../../models/interval.ts";
import { naiveErrorOf } from "../../models/scores.ts";
import type { History } from "../training-task.ts";

/** What is judged on: targets later than `afterMs`, to the end of the history. */
export interface Span {
  readonly afterMs: number;
  readonly horizon: number;
  readonly season: number;
}

export interface ProvingGround {
  readonly history: History;
  /** Each the step of a first target; the windows before it hold no gap. */
  readonly origins: readonly number[];
  /** One byte per step: 1 where it was observed, and so counts as a target. */
  readonly observed: Uint8Array;
  /** Targets at different times, one per step whatever the number of forecasts that had it ahead. */
  readonly steps: number;
  /** Per channel: what errors are divided by. */
  readonly units: readonly number[];
}

export interface Reach {
  /** Steps of the longest window of any contestant. */
  readonly longest: number;
  /** Origins at most. */
  readonly origins: number;
}

export function provingGround(history: History, span: Span, reach: Reach): ProvingGround {
  const { horizon, season } = span;
  const steps = stepsOf(history);
  const first = firstStepAfter(history, span.afterMs);
  const { observed, unbroken } = readSlots(history);
  const needed = Math.max(reach.longest, 2 * season);
  const possible: number[] = [];
  for (let origin = Math.max(first, needed); origin < steps; origin++) {
    const hasTarget = observed.subarray(origin, origin + horizon).includes(1);
    if (hasTarget && unbroken[origin - 1] >= needed && hasSeasonalError(observed, origin, season)) {
      possible.push(origin);
    }
  }
  const origins = spreadEvenly(possible, reach.origins);
  return {
    history,
    origins,
    observed,
    steps: countTargets(origins, observed, horizon),
    units: unitsOf(history, first),
  };
}

export function stepsOf({ values, channels }: History): number {
  return values.length / channels;
}

function hasSeasonalError(observed: Uint8Array, origin: number, season: number): boolean {
  const oldest = Math.max(season, origin - seasonalErrorSteps(season));
  for (let step = origin - 1; step >= oldest; step--) {
    if (observed[step] === 1 && observed[step - season] === 1) return true;
  }
  return false;
}

/** Which slots were observed, and how many steps without a gap end at each. */
function readSlots(history: History): { observed: Uint8Array; unbroken: Int32Array } {
  const { values, channels, filled } = history;
  const steps = stepsOf(history);
  const observed = new Uint8Array(steps);
  const unbroken = new Int32Array(steps);
  for (let step = 0; step < steps; step++) {
    const slot = values.subarray(step * channels, (step + 1) * channels);
    if (!slot.every((value) => Number.isFinite(value))) continue;
    observed[step] = filled?.[step] === 1 ? 0 : 1;
    unbroken[step] = 1 + (step === 0 ? 0 : unbroken[step - 1]);
  }
  return { observed, unbroken };
}

function firstStepAfter(history: History, afterMs: number): number {
  const timeOf = timesOf(history);
  let first = stepsOf(history);
  while (first > 0 && timeOf(first - 1) > afterMs) first--;
  return first;
}

function timesOf({ interval: iso, firstTimeMs }: History): (step: number) => number {
  const interval = parseInterval(iso);
  const index = interval.indexOf(firstTimeMs, 0);
  // The grid's shift is not told. It is less than half a step, and a month shifted back begins in the one before.
  const distance = (at: number) => firstTimeMs - interval.timeOf(at, 0);
  const origin = Math.abs(distance(index + 1)) < Math.abs(distance(index)) ? index + 1 : index;
  return (step) => interval.timeOf(origin + step, distance(origin));
}

function spreadEvenly(steps: readonly number[], most: number): readonly number[] {
  if (steps.length <= most) return steps;
  return Array.from({ length: most }, (_, i) => steps[Math.floor(((i + 0.5) * steps.length) / most)]);
}

function countTargets(origins: readonly number[], observed: Uint8Array, horizon: number): number {
  let count = 0;
  let counted = 0;
  for (const origin of origins) {
    const end = Math.min(origin + horizon, observed.length);
    for (let step = Math.max(origin, counted); step < end; step++) count += observed[step];
    counted = end;
  }
  return count;
}

/** The one-step naive error over what lies before the span; over all of it when that says nothing. */
function unitsOf(history: History, first: number): readonly number[] {
  const { values, channels } = history;
  return Array.from({ length: channels }, (_, channel) => {
    const own = values.filter((_, i) => i % channels === channel);
    // A series that never moves is measured in its own units.
    return naiveErrorOf(own, 0, first) ?? naiveErrorOf(own, 0, own.length) ?? 1;
  });
}
