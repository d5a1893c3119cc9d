// A small chart of block characters: bars of what was observed, then the forecast, each column solid up to the
// lower end of its 80 % interval and light from there to the upper end, with the median in between.
//
// A cell of a terminal shows one boundary between two inks, in eighths of its height. A cell that needs two
// boundaries stretches the light part to one of its edges: never over the margin at the top. Without colours the forecast is its
// median, and what the interval leaves open above it is shaded.

import type { Outlook } from "./forecast-board.ts";
import type { Span } from "./paint.ts";

const eighths = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
/** Eighths kept free at the top, so that charts below one another stay apart. */
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
interface Column {
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

/** Values to heights. The least value is still one eighth high, so that only what is missing is blank. */
function createScale(values: readonly number[], rows: number): (value: number) => number {
  const finite = values.filter(Number.isFinite);
  const least = Math.min(...finite);
  const range = Math.max(...finite) - least;
  const most = rows === 1 ? 8 : 8 * rows - margin;
  return (value) => {
    if (!Number.isFinite(value)) return 0;
    // Nothing to scale by, or too wide for a double, gives no scale either.
    const isFlat = !(range > 0 && range < Number.POSITIVE_INFINITY);
    return isFlat ? most / 2 : 1 + Math.round(((value - least) / range) * (most - 1));
  };
}

function inkedCell(column: Column, floor: number, isTop: boolean): Span {
  const solid = within(column.solid - floor);
  const light = within(column.light - floor);
  if (light <= solid) return { text: eighths[solid], ink: "forecast" };
  const isNearTop = light === 8 || (8 - light <= solid && !isTop);
  return solid > 0 && isNearTop
    ? { text: eighths[solid], ink: "forecast", ground: "band" }
    : { text: eighths[light], ink: "band" };
}

function shadedCell(column: Column, floor: number): Span {
  const solid = within(column.solid - floor);
  return { text: solid === 0 && column.light > floor ? "░" : eighths[solid] };
}

function within(height: number): number {
  return Math.min(8, Math.max(0, height));
}

function blanks(count: number): Span {
  return { text: " ".repeat(Math.max(0, count)) };
}
