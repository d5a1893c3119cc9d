// A small chart of block characters: bars of what was observed, then the forecast as a stack of zones: up to
// the lower end of the 80 % interval, on to the median, on to the upper end.
//
// A cell of a terminal can show one boundary between two inks, in eighths of its height. Where more fall into
// one cell the bottom and the top ink are kept.

import type { Outlook } from "./forecast-board.ts";
import type { Ink, Span } from "./paint.ts";

const eighths = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

interface Zone {
  /** Height of the zone's upper end, in eighths of a row above the chart's floor. */
  readonly top: number;
  readonly ink: Ink;
}

type Column = readonly Zone[];

export interface ChartSize {
  readonly rows: number;
  /** Columns for history; older values are left out, missing ones are blank. */
  readonly columns: number;
  /** Columns for the forecast. */
  readonly ahead: number;
}

/** The rows of the chart from the top, each `columns + 1 + ahead` wide. */
export function drawChart(
  history: readonly number[],
  outlook: readonly Outlook[],
  { rows, columns, ahead }: ChartSize,
): readonly (readonly Span[])[] {
  const shown = columns === 0 ? [] : history.slice(-columns);
  const next = outlook.slice(0, ahead);
  const heightOf = createScale([...shown, ...next.flatMap(({ low, high }) => [low, high])], rows);
  const past = shown.map((value) => columnOf([[value, "observed"]], heightOf));
  const future = next.map(({ low, median, high }) =>
    columnOf(
      [
        [low, "sure"],
        [median, "likely"],
        [high, "possible"],
      ],
      heightOf,
    ),
  );
  return Array.from({ length: rows }, (_, fromTop) => {
    const row = rows - 1 - fromTop;
    const blanks = (count: number): Span => ({ text: " ".repeat(Math.max(0, count)) });
    return [
      blanks(columns - past.length),
      ...past.map((column) => cellOf(column, row)),
      { text: "┊", ink: "faint" } as const,
      ...future.map((column) => cellOf(column, row)),
      blanks(ahead - future.length),
    ];
  });
}

/** Values to eighths of a row; never nothing at all, and in a tall chart the top stays free as a margin. */
function createScale(values: readonly number[], rows: number): (value: number) => number {
  const finite = values.filter(Number.isFinite);
  const least = Math.min(...finite);
  const range = Math.max(...finite) - least;
  const most = rows === 1 ? 8 : 8 * rows - 2;
  return (value) => {
    if (!Number.isFinite(value)) return 0;
    return range === 0 ? Math.round(most / 2) : 1 + Math.round(((value - least) / range) * (most - 1));
  };
}

function columnOf(stack: readonly (readonly [number, Ink])[], heightOf: (value: number) => number): Column {
  return stack.map(([value, ink]) => ({ top: heightOf(value), ink }));
}

function cellOf(column: Column, row: number): Span {
  const floor = 8 * row;
  const lower = column.find(({ top }) => top > floor);
  if (lower === undefined) return { text: " " };
  const upper = column.find(({ top }) => top >= floor + 8);
  if (upper === lower) return { text: "█", ink: lower.ink };
  const text = eighths[lower.top - floor];
  return upper === undefined ? { text, ink: lower.ink } : { text, ink: lower.ink, ground: upper.ink };
}
