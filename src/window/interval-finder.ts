// Finds the grid of a series whose interval is configured as "auto", from its first event times. The result depends on
// the set of times, not on their order. It is never revised: windows before and after a moved grid could not be
// compared.

import { fixedInterval, type Interval, parseInterval } from "../models/interval.ts";

/** Distinct event times needed: of their seven differences three may be gaps or repeated points. */
export const POINTS_TO_FIND_INTERVAL = 8;

interface FoundInterval {
  readonly interval: Interval;
  readonly offsetMs: number;
}

const SNAP_TOLERANCE = 0.05;
const DAY = 86_400_000;

/** Common steps, in milliseconds. */
const CUSTOMARY_STEPS = [
  ...[0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 15, 20, 30].map((seconds) => seconds * 1000),
  ...[1, 2, 3, 5, 10, 15, 20, 30].map((minutes) => minutes * 60_000),
  ...[1, 2, 3, 4, 6, 8, 12].map((hours) => hours * 3_600_000),
  ...[1, 7].map((days) => days * DAY),
];

const CALENDAR_STEPS = [
  { iso: "P1M", minDays: 28, maxDays: 31 },
  { iso: "P3M", minDays: 90, maxDays: 92 },
  { iso: "P1Y", minDays: 365, maxDays: 366 },
];

/** `timesMs` are distinct and sorted, at least two. */
export function findInterval(timesMs: readonly number[]): FoundInterval {
  const differences = timesMs.slice(1).map((time, i) => time - timesMs[i]);
  const stepMs = median(differences);
  const days = stepMs / DAY;
  const calendar = CALENDAR_STEPS.find((step) => days > step.minDays - 0.5 && days < step.maxDays + 0.5);
  if (calendar !== undefined) return { interval: parseInterval(calendar.iso), offsetMs: 0 };
  const interval = fixedInterval(snapStep(stepMs));
  return { interval, offsetMs: findOffset(timesMs, interval) };
}

function snapStep(stepMs: number): number {
  const nearest = CUSTOMARY_STEPS.reduce((best, step) =>
    Math.abs(step - stepMs) < Math.abs(best - stepMs) ? step : best,
  );
  if (Math.abs(stepMs - nearest) <= SNAP_TOLERANCE * nearest) return nearest;
  // Below ten seconds, rounding to whole seconds could move the step by more than the tolerance.
  const unitMs = stepMs >= 10_000 ? 1000 : 1;
  return Math.max(1, Math.round(stepMs / unitMs) * unitMs);
}

/** The phase of the points within the step: the median, after the circle of phases is cut at its widest gap. */
function findOffset(timesMs: readonly number[], interval: Interval): number {
  const phaseOf = (timeMs: number) => timeMs - interval.timeOf(interval.indexOf(timeMs, 0), 0);
  const stepMs = 2 * interval.maxJitterMs;
  const phases = timesMs.map(phaseOf).sort((a, b) => a - b);
  const gapBefore = (i: number) => phases[i] - (i === 0 ? phases[phases.length - 1] - stepMs : phases[i - 1]);
  let first = 0;
  for (let i = 1; i < phases.length; i++) if (gapBefore(i) > gapBefore(first)) first = i;
  const unrolled = [...phases.slice(first), ...phases.slice(0, first).map((phase) => phase + stepMs)];
  const offsetMs = phaseOf(interval.timeOf(0, median(unrolled)));
  const spreadMs = unrolled[unrolled.length - 1] - unrolled[0];
  return Math.abs(offsetMs) <= spreadMs ? 0 : offsetMs;
}

/** Of two middle values the lower one, so that the result is one of the values. */
function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[(sorted.length - 1) >> 1];
}
