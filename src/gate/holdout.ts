// The held-out part of a history: origins whose targets no model was trained on, and the targets that count. It depends on the
// history and on the longest window of the models, not on their forecasts, so all models have the same targets.

import type { History } from "../domain.ts";
import { seasonalErrorSteps } from "../models/error-sample.ts";
import { slotTimesOf } from "../models/interval.ts";
import { naiveErrorOf } from "../models/scores.ts";

/** Targets later than `afterMs`, to the end of the history. */
export interface HoldoutSpan {
  readonly afterMs: number;
  readonly horizon: number;
  readonly season: number;
}

export interface Holdout {
  readonly history: History;
  /** Steps of first targets, with windows without a gap before them. */
  readonly origins: readonly number[];
  /** One byte per step: 1 where it was observed and counts as a target. */
  readonly observed: Uint8Array;
  /** Distinct steps among the targets. */
  readonly steps: number;
  /** Per channel: the naive error, the unit of forecast errors. */
  readonly units: readonly number[];
}

export interface HoldoutReach {
  /** Steps of the longest window of any model. */
  readonly longest: number;
  /** Most origins. */
  readonly origins: number;
}

export function createHoldout(history: History, span: HoldoutSpan, reach: HoldoutReach): Holdout {
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

/** Which slots were observed, and the length of the run without a gap that ends at each. */
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

/**
 * Slot times are approximate on a shifted calendar grid (`slotTimesOf`), and two days early in some records of earlier
 * releases. `afterMs` is the time of a slot, so the next slot is a whole step later, and half a step decides safely.
 */
function firstStepAfter(history: History, afterMs: number): number {
  const timeOf = slotTimesOf(history);
  const isLater = (step: number) => timeOf(step) - afterMs > (timeOf(step) - timeOf(step - 1)) / 2;
  let first = stepsOf(history);
  while (first > 0 && isLater(first - 1)) first--;
  return first;
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

/** The one-step naive error before the span, or of the whole history when there is none before. */
function unitsOf(history: History, first: number): readonly number[] {
  const { values, channels } = history;
  return Array.from({ length: channels }, (_, channel) => {
    const own = values.filter((_, i) => i % channels === channel);
    // A flat series has the unit 1.
    return naiveErrorOf(own, 0, first) ?? naiveErrorOf(own, 0, own.length) ?? 1;
  });
}
