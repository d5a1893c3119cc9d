// The step of a series' grid: ISO 8601 durations and the arithmetic between time and slot number.
//
// Fixed steps (weeks to milliseconds) are counted from the epoch, whole weeks from Monday 1970-01-05, so a
// grid never depends on which point came first. An observation belongs to the NEAREST slot: clocks jitter
// to both sides of the tick. Calendar steps (months, years) are counted from 1970-01 in UTC, and an
// observation belongs to the month that CONTAINS it: a monthly value is stamped anywhere inside its month.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;
const FIRST_MONDAY = 4 * DAY;
/** A month is never longer, so no time lies further from the start of its slot. */
const LONGEST_MONTH = 31 * DAY;

export interface Interval {
  /** The duration in its shortest spelling: PT60M and PT1H are both "PT1H". */
  readonly iso: string;
  /** No observation lies further than this from the time of its slot. */
  readonly maxJitterMs: number;
  /** The slot that `timeMs` belongs to, on the grid shifted by `offsetMs`. */
  indexOf(timeMs: number, offsetMs: number): number;
  timeOf(index: number, offsetMs: number): number;
}

class FixedInterval implements Interval {
  readonly iso: string;
  readonly maxJitterMs: number;
  readonly #stepMs: number;
  readonly #anchorMs: number;

  constructor(stepMs: number) {
    this.iso = spellFixed(stepMs);
    this.maxJitterMs = stepMs / 2;
    this.#stepMs = stepMs;
    this.#anchorMs = stepMs % WEEK === 0 ? FIRST_MONDAY : 0;
  }

  indexOf(timeMs: number, offsetMs: number): number {
    // Half a step is added before the floor, so a tie goes to the later slot on both sides of the epoch.
    return Math.floor((timeMs - offsetMs - this.#anchorMs) / this.#stepMs + 0.5);
  }

  timeOf(index: number, offsetMs: number): number {
    return index * this.#stepMs + this.#anchorMs + offsetMs;
  }
}

/** Reused for every conversion: a Date per observation would be garbage per observation. */
const scratch = new Date(0);

class CalendarInterval implements Interval {
  readonly iso: string;
  readonly maxJitterMs: number;
  readonly #months: number;

  constructor(months: number) {
    this.iso = months % 12 === 0 ? `P${months / 12}Y` : `P${months}M`;
    this.maxJitterMs = months * LONGEST_MONTH;
    this.#months = months;
  }

  indexOf(timeMs: number, offsetMs: number): number {
    scratch.setTime(timeMs - offsetMs);
    const months = (scratch.getUTCFullYear() - 1970) * 12 + scratch.getUTCMonth();
    return Math.floor(months / this.#months);
  }

  timeOf(index: number, offsetMs: number): number {
    return Date.UTC(1970, index * this.#months) + offsetMs;
  }
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
  // 0.007 s × 1000 is not 7 in binary; what is off by less than a nanosecond was meant as whole.
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

/** A fleet has a handful of intervals and a hundred thousand series: each refers to the one of its kind. */
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
