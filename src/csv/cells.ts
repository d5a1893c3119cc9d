// What a cell says: a number, nothing, or a time. Where two readings are possible, none is chosen: the caller refuses the cell.

const missing = new Set(["", "na", "n/a", "nan", "null", "none", "-", "–", "?"]);
const plainNumber = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const commaNumber = /^[+-]?(\d+,?\d*|,\d+)(e[+-]?\d+)?$/i;

/** NaN where the cell says that there is no value; null for text. */
export function readNumber(cell: string, hasDecimalComma: boolean): number | null {
  if (plainNumber.test(cell)) return finite(Number(cell));
  if (missing.has(cell.toLowerCase())) return Number.NaN;
  if (hasDecimalComma && commaNumber.test(cell)) return finite(Number(cell.replace(",", ".")));
  return null;
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

/** 2024-01-31, 2024/01/31, 2024-01, with an optional time of day and zone. */
const yearFirst =
  /^(\d{4})[-/](\d{1,2})(?:[-/](\d{1,2})(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|UTC|[+-]\d{2}:?\d{2})?)?)?$/i;
/** 31.01.2024, with an optional time of day. */
const dayFirst = /^(\d{1,2})\.(\d{1,2})\.(\d{4})(?: (\d{1,2}):(\d{2})(?::(\d{2}))?)?$/;
const year = /^\d{4}$/;
const epoch = /^\d{9,19}(\.\d+)?$/;

/** Milliseconds since the epoch; null for text that is no time, or not of one meaning. Without a zone, UTC. */
export function readTime(cell: string): number | null {
  const iso = yearFirst.exec(cell);
  if (iso !== null) {
    const [, y, month, day = "1", hour = "0", minute = "0", second = "0", fraction = "0", zone = "Z"] = iso;
    return timeOf({ y, month, day, hour, minute, second }, Number(`0.${fraction}`) * 1000, zone);
  }
  const dotted = dayFirst.exec(cell);
  if (dotted !== null) {
    const [, day, month, y, hour = "0", minute = "0", second = "0"] = dotted;
    return timeOf({ y, month, day, hour, minute, second }, 0, "Z");
  }
  if (year.test(cell)) return Date.UTC(Number(cell), 0);
  return epoch.test(cell) ? epochMs(cell) : null;
}

interface TimeParts {
  readonly y: string;
  readonly month: string;
  readonly day: string;
  readonly hour: string;
  readonly minute: string;
  readonly second: string;
}

function timeOf({ y, month, day, hour, minute, second }: TimeParts, ms: number, zone: string): number | null {
  const parts = [y, month, day, hour, minute, second].map(Number);
  const [Y, M, D, h, m, s] = parts as [number, number, number, number, number, number];
  const utcMs = Date.UTC(Y, M - 1, D, h, m, s) + ms;
  const date = new Date(utcMs);
  // The 31st of a short month, or the 25th hour, would move on to the next.
  const isReal = date.getUTCMonth() === M - 1 && date.getUTCDate() === D && h < 24 && m < 60 && s < 60;
  if (!isReal) return null;
  const [, sign, hours, minutes] = /^([+-])(\d{2}):?(\d{2})$/.exec(zone) ?? ["", "+", "0", "0"];
  const shiftMs = (Number(hours) * 60 + Number(minutes)) * 60_000;
  return utcMs - (sign === "-" ? -shiftMs : shiftMs);
}

/** Seconds, milliseconds, microseconds or nanoseconds, by the number of digits. */
function epochMs(cell: string): number {
  const [digits = ""] = cell.split(".");
  const perMs = digits.length <= 10 ? 1e-3 : digits.length <= 13 ? 1 : digits.length <= 16 ? 1e3 : 1e6;
  return Number(cell) / perMs;
}
