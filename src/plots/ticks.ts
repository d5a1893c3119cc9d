// Where the marks of an axis stand, and what they say: round values, and times that people use.

export interface Tick {
  readonly at: number;
  readonly label: string;
}

/** Values placed along a line of pixels. */
export interface Axis {
  readonly low: number;
  readonly high: number;
  place(value: number): number;
}

/** As wide as the values and a share of their range on either side. Equal values lie in the middle. `from` and `to` are pixels. */
export function axisOf(
  values: Iterable<number>,
  { from, to, margin }: { readonly from: number; readonly to: number; readonly margin: number },
): Axis {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  if (least > most) [least, most] = [0, 1];
  const room = most > least ? margin * (most - least) : Math.abs(most) || 1;
  const [low, high] = [least - room, most + room];
  return { low, high, place: (value) => from + ((to - from) * (value - low)) / (high - low) };
}

/** At most `most` round values between the two, ascending. */
export function valueTicks(low: number, high: number, most: number): readonly Tick[] {
  const range = high - low;
  if (!(range > 0) || !Number.isFinite(range)) return [{ at: low, label: shortValue(low) }];
  const power = 10 ** Math.floor(Math.log10(range / most));
  const step =
    [1, 2, 5, 10].map((factor) => factor * power).find((size) => range / size <= most) ?? 10 * power;
  const first = Math.ceil(low / step);
  const count = Math.floor(high / step) - first + 1;
  const digits = Math.min(20, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  return Array.from({ length: count }, (_, i) => {
    const at = (first + i) * step;
    return { at, label: Math.abs(at) >= 1e6 || digits > 6 ? shortValue(at) : at.toFixed(digits) };
  });
}

function shortValue(value: number): string {
  return String(Number(value.toPrecision(6)));
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const fixedSteps = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 4, 7, 14].map((days) => days * DAY),
];
const monthSteps = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1_200, 2_400];
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const MONTH = 30.44 * DAY;
/** Weeks begin on a Monday. */
const FIRST_MONDAY = 4 * DAY;

/** At most `most` times in UTC between the two, ascending. */
export function timeTicks(fromMs: number, toMs: number, most: number): readonly Tick[] {
  const range = toMs - fromMs;
  const step = fixedSteps.find((size) => range / size <= most);
  if (step !== undefined) {
    const anchor = step % (7 * DAY) === 0 ? FIRST_MONDAY : 0;
    const first = Math.ceil((fromMs - anchor) / step);
    const count = Math.floor((toMs - anchor) / step) - first + 1;
    return Array.from({ length: Math.max(0, count) }, (_, i) => {
      const at = anchor + (first + i) * step;
      return { at, label: labelOf(at, step) };
    });
  }
  const size = monthSteps.find((one) => range / (one * MONTH) <= most) ?? 2_400;
  const start = new Date(fromMs);
  const ticks: Tick[] = [];
  let month = Math.ceil((start.getUTCFullYear() * 12 + start.getUTCMonth()) / size) * size;
  for (; ; month += size) {
    const date = new Date(0);
    date.setUTCFullYear(Math.floor(month / 12), month % 12, 1);
    const at = date.getTime();
    if (at > toMs) return ticks;
    const year = String(date.getUTCFullYear());
    if (at >= fromMs) ticks.push({ at, label: month % 12 === 0 ? year : `${months[month % 12]} ${year}` });
  }
}

function labelOf(ms: number, step: number): string {
  const iso = new Date(ms).toISOString();
  const day = `${Number(iso.slice(8, 10))} ${months[Number(iso.slice(5, 7)) - 1]}`;
  if (step >= DAY || (ms % DAY === 0 && step >= MINUTE)) return day;
  if (step >= MINUTE) return iso.slice(11, 16);
  return step >= SECOND ? iso.slice(11, 19) : iso.slice(11, 23);
}
