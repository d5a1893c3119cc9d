// Numbers and values as people read them.

import type { SeriesView } from "./forecast-board.ts";

/** Three digits that matter: 0.52, 3.14, 31.4, 314. */
export function shortNumber(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const shown = value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
  return Number(shown) === 0 ? shown.replace("-", "") : shown;
}

export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

export function percent(part: number, whole: number): string {
  return whole === 0 ? "–" : `${((100 * part) / whole).toFixed(1)} %`;
}

export function milliseconds(ms: number): string {
  return ms < 1 ? "<1 ms" : `${count(ms)} ms`;
}

export function nowText({ history, unit }: SeriesView): string {
  return `${shortNumber(history.at(-1) ?? Number.NaN)} ${unit}`;
}

export function nextText({ outlook }: SeriesView): string {
  const [next] = outlook;
  if (next === undefined) return "no forecast yet";
  return `${shortNumber(next.median)} (${shortNumber(next.low)}…${shortNumber(next.high)})`;
}
