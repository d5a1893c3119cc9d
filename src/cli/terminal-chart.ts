// A small chart of block characters: bars of the observed values, then the forecast. A forecast column is solid up to the
// lower end of its 80 % interval and light from there to the upper end.
//
// A terminal cell shows one boundary between two colours, in eighths of its height. In a cell that needs two boundaries
// the light part extends to one edge, but never into the margin at the top. Without colours the column ends at the
// median, and the part of the interval above it is shaded.

import type { Span } from "./styled-text.ts";

/** One step ahead: the median and the 80 % interval around it. */
export interface Outlook {
  readonly low: number;
  readonly median: number;
  readonly high: number;
}

const eighths = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
/** Free eighths at the top, which separate charts below one another. */
const margin = 2;

export interface ChartStyle {
  readonly rows: number;
  /** Columns for history; older values are left out, missing ones are blank. */
  readonly columns: number;
  /** Columns for the forecast. */
  readonly ahead: number;
  readonly isColoured: boolean;
}

/** Heights in eighths of a row above the chart's floor: solid up to the first, light up to the second. */
interface ChartColumn {
  readonly solid: number;
  readonly light: number;
}

/** The rows of the chart from the top, each `columns + 1 + ahead` wide. */
export function drawChart(
  history: readonly number[],
  outlook: readonly Outlook[],
  { rows, columns, ahead, isColoured }: ChartStyle,
): readonly (readonly Span[])[] {
  const past = history.slice(Math.max(0, history.length - columns));
  const future = outlook.slice(0, ahead);
  const heightOf = createScale([...past, ...future.flatMap(({ low, high }) => [low, high])], rows);
  const pastHeights = past.map(heightOf);
  const futureColumns = future.map(({ low, median, high }) => {
    const solid = heightOf(isColoured ? low : median);
    return { solid, light: Math.max(heightOf(high), isColoured ? solid + 1 : 0) };
  });
  return Array.from({ length: rows }, (_, fromTop) => {
    const floor = 8 * (rows - 1 - fromTop);
    return [
      blanks(columns - past.length),
      ...pastHeights.map((height): Span => ({ text: eighths[within(height - floor)], ink: "observed" })),
      { text: "┊", ink: "faint" } as const,
      ...futureColumns.map((column) =>
        isColoured ? inkedCell(column, floor, fromTop === 0) : shadedCell(column, floor),
      ),
      blanks(ahead - future.length),
    ];
  });
}

/** Maps values to heights. The smallest value is one eighth high: only missing values are blank. */
function createScale(values: readonly number[], rows: number): (value: number) => number {
  const finite = values.filter(Number.isFinite);
  const least = Math.min(...finite);
  const range = Math.max(...finite) - least;
  const most = rows === 1 ? 8 : 8 * rows - margin;
  return (value) => {
    if (!Number.isFinite(value)) return 0;
    // A range that overflows a double cannot be scaled either.
    const isFlat = !(range > 0 && range < Number.POSITIVE_INFINITY);
    return isFlat ? most / 2 : 1 + Math.round(((value - least) / range) * (most - 1));
  };
}

function inkedCell(column: ChartColumn, floor: number, isTop: boolean): Span {
  const solid = within(column.solid - floor);
  const light = within(column.light - floor);
  if (light <= solid) return { text: eighths[solid], ink: "forecast" };
  const isNearTop = light === 8 || (8 - light <= solid && !isTop);
  return solid > 0 && isNearTop
    ? { text: eighths[solid], ink: "forecast", ground: "band" }
    : { text: eighths[light], ink: "band" };
}

function shadedCell(column: ChartColumn, floor: number): Span {
  const solid = within(column.solid - floor);
  return { text: solid === 0 && column.light > floor ? "░" : eighths[solid] };
}

function within(height: number): number {
  return Math.min(8, Math.max(0, height));
}

function blanks(count: number): Span {
  return { text: " ".repeat(Math.max(0, count)) };
}
