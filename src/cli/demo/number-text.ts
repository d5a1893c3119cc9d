// Numbers and values of the demo as short text.

import type { SeriesView } from "./forecast-board.ts";

/** Three significant digits: 0.52, 3.14, 31.4, 314. */
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

/** "81 %" */
export function wholePercent(share: number): string {
  return `${Math.round(100 * share)} %`;
}

/** "1:05" */
export function clockText(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

export function milliseconds(ms: number): string {
  return ms < 1 ? "<1 ms" : `${count(ms)} ms`;
}

export function nowText({ history, unit }: SeriesView): string {
  return `${shortNumber(history.at(-1) ?? Number.NaN)} ${unit}`;
}

export function maseText({ scores }: SeriesView): string {
  return scores === null ? "–" : shortNumber(scores.mase);
}

export function coverageText({ scores }: SeriesView): string {
  return scores === null ? "–" : wholePercent(scores.coverage);
}

export function nextText({ outlook }: SeriesView): string {
  const [next] = outlook;
  if (next === undefined) return "no forecast yet";
  return `${shortNumber(next.median)} (${shortNumber(next.low)}…${shortNumber(next.high)})`;
}
