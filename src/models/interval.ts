// The step of a series' grid: ISO 8601 durations, and conversion between time and slot number.
//
// Fixed steps (weeks to milliseconds) count from the epoch, whole weeks from Monday 1970-01-05, so a grid does not depend on
// the first point. An observation belongs to the NEAREST slot: clocks jitter to both sides of the tick. Calendar steps
// (months, years) count from 1970-01 in UTC, and an observation belongs to the month that CONTAINS it: a monthly value is
// stamped anywhere inside its month.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;
const FIRST_MONDAY = 4 * DAY;
/** No month is longer, so no time is further from the start of its slot. */
const LONGEST_MONTH = 31 * DAY;

export interface Interval {
  /** The duration in its shortest spelling: PT60M and PT1H are both "PT1H". */
  readonly iso: string;
  /** Length of a fixed step; 0 for a calendar step. */
  readonly stepMs: number;
  /** Length of a calendar step; 0 for a fixed step. */
  readonly months: number;
  /** Largest distance of an observation from the time of its slot. */
  readonly maxJitterMs: number;
  /** The slot that `timeMs` belongs to, on the grid shifted by `offsetMs`. */
  indexOf(timeMs: number, offsetMs: number): number;
  timeOf(index: number, offsetMs: number): number;
}

class FixedInterval implements Interval {
  readonly iso: string;
  readonly stepMs: number;
  readonly months = 0;
  readonly maxJitterMs: number;
  readonly #anchorMs: number;

  constructor(stepMs: number) {
    this.iso = spellFixed(stepMs);
    this.maxJitterMs = stepMs / 2;
    this.stepMs = stepMs;
    this.#anchorMs = stepMs % WEEK === 0 ? FIRST_MONDAY : 0;
  }

  indexOf(timeMs: number, offsetMs: number): number {
    // A tie goes to the later slot, before the epoch as well.
    return Math.floor((timeMs - offsetMs - this.#anchorMs) / this.stepMs + 0.5);
  }

  timeOf(index: number, offsetMs: number): number {
    return index * this.stepMs + this.#anchorMs + offsetMs;
  }
}

/** Reused, so that an observation allocates no Date. */
const scratch = new Date(0);

class CalendarInterval implements Interval {
  readonly iso: string;
  readonly stepMs = 0;
  readonly months: number;
  readonly maxJitterMs: number;

  constructor(months: number) {
    this.iso = months % 12 === 0 ? `P${months / 12}Y` : `P${months}M`;
    this.maxJitterMs = months * LONGEST_MONTH;
    this.months = months;
  }

  indexOf(timeMs: number, offsetMs: number): number {
    scratch.setTime(timeMs - offsetMs);
    const months = (scratch.getUTCFullYear() - 1970) * 12 + scratch.getUTCMonth();
    return Math.floor(months / this.months);
  }

  timeOf(index: number, offsetMs: number): number {
    return Date.UTC(1970, index * this.months) + offsetMs;
  }
}

/**
 * The number of the step whose time on the grid without a shift is nearest, counted from 1970. All series of an interval have the
 * same number at a time, whatever the shift of their grids.
 */
export function stepNumberOf(interval: Interval, timeMs: number): number {
  const index = interval.indexOf(timeMs, 0);
  const distance = (at: number) => Math.abs(timeMs - interval.timeOf(at, 0));
  return distance(index + 1) < distance(index) ? index + 1 : index;
}

/** The number of the first step of a history. */
export function firstStepOf(history: { readonly interval: string; readonly firstTimeMs: number }): number {
  return stepNumberOf(parseInterval(history.interval), history.firstTimeMs);
}

/**
 * Times of a history's slots, from the time of the first. How far the grid is shifted is not stored with a history. It is
 * taken to be less than half a step, so the first slot is the one whose unshifted time is nearest: a month that is
 * shifted back begins in the month before. On a calendar grid with a larger shift the times are up to three days off.
 */
export function slotTimesOf(history: {
  readonly interval: string;
  readonly firstTimeMs: number;
}): (slot: number) => number {
  const { firstTimeMs } = history;
  const interval = parseInterval(history.interval);
  const first = stepNumberOf(interval, firstTimeMs);
  const shiftMs = firstTimeMs - interval.timeOf(first, 0);
  return (slot) => interval.timeOf(first + slot, shiftMs);
}

const DURATION =
  /^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d+)?)S)?)?$/;

/** Reads an ISO 8601 duration such as PT5M, PT0.5S, P1D, P1W, P1M or P1Y. */
export function parseInterval(iso: string): Interval {
  const parts = DURATION.exec(iso);
  if (parts === null || iso.endsWith("T")) throw badInterval(iso, "is not an ISO 8601 duration");
  const [years, months, weeks, days, hours, minutes, seconds] = parts
    .slice(1)
    .map((part) => Number((part ?? "0").replace(",", ".")));
  const calendarMonths = years * 12 + months;
  const exactMs = weeks * WEEK + days * DAY + hours * HOUR + minutes * MINUTE + seconds * SECOND;
  // 0.007 s × 1000 is not exactly 7 in binary: a difference below a nanosecond is rounding.
  const fixedMs = Math.round(exactMs);
  if (Math.abs(exactMs - fixedMs) > 1e-6) throw badInterval(iso, "is not a whole number of milliseconds");
  if (calendarMonths > 0 && fixedMs > 0) throw badInterval(iso, "mixes months with fixed lengths of time");
  if (calendarMonths > 0) return shared(new CalendarInterval(calendarMonths));
  if (fixedMs === 0) throw badInterval(iso, "has no length");
  return fixedInterval(fixedMs);
}

/** The interval of a whole number of milliseconds. */
export function fixedInterval(stepMs: number): Interval {
  return shared(new FixedInterval(stepMs));
}

const sharedByIso = new Map<string, Interval>();

/** A hundred thousand series share a handful of intervals. */
function shared(interval: Interval): Interval {
  const known = sharedByIso.get(interval.iso);
  if (known !== undefined) return known;
  sharedByIso.set(interval.iso, interval);
  return interval;
}

function spellFixed(stepMs: number): string {
  if (stepMs % WEEK === 0) return `P${stepMs / WEEK}W`;
  if (stepMs % DAY === 0) return `P${stepMs / DAY}D`;
  if (stepMs % HOUR === 0) return `PT${stepMs / HOUR}H`;
  if (stepMs % MINUTE === 0) return `PT${stepMs / MINUTE}M`;
  return `PT${stepMs / SECOND}S`;
}

function badInterval(iso: string, problem: string): Error {
  return new Error(
    `interval "${iso}" ${problem}; write for example PT30S, PT5M, PT1H, P1D, P1W, P1M or P1Y, or "auto"`,
  );
}
