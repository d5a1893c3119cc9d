// The demo as a screen that is redrawn in place: what happens on the whole, then a few series, each with its
// chart. Pure: the same model and size give the same lines.

import type { Coverage, Latency, SeriesView } from "./forecast-board.ts";
import { type Ink, type Line, paint, type Span, widthOf } from "./paint.ts";
import { drawChart } from "./sparkline.ts";
import { count, milliseconds, nextText, nowText, percent } from "./wording.ts";

export interface DemoModel {
  readonly state: string;
  readonly seriesCount: number;
  readonly elapsedSeconds: number;
  readonly observationsPerSecond: number;
  readonly forecastsPerSecond: number;
  /** From an observation's arrival in the log to its forecast in a subscriber's hands; null before the first. */
  readonly latency: Latency | null;
  readonly deadLetters: number;
  readonly coverage: Coverage;
  readonly horizon: number;
  readonly address: string;
  /** The worker's last words, or the demo's. */
  readonly news: string;
  readonly series: readonly SeriesView[];
}

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/** Rows of the screen that are not series. */
const frameRows = 8;
const wantedSeries = 8;
const nowWidth = 19;

/** How a screen of some size is divided. */
interface Layout {
  readonly nameWidth: number;
  readonly historyWidth: number;
  readonly chartRows: number;
  readonly blankRows: number;
}

function layoutOf({ columns, rows }: ScreenSize, horizon: number): Layout {
  const nameWidth = columns >= 100 ? 24 : 18;
  const historyWidth = Math.max(4, columns - nameWidth - nowWidth - horizon - 3);
  const rowsEach = Math.floor((rows - frameRows) / wantedSeries);
  return { nameWidth, historyWidth, chartRows: rowsEach >= 4 ? 3 : 2, blankRows: rowsEach >= 3 ? 1 : 0 };
}

export function seriesThatFit(size: ScreenSize): number {
  const { chartRows, blankRows } = layoutOf(size, 0);
  return Math.max(1, Math.floor((size.rows - frameRows) / (chartRows + blankRows)));
}

/** At most `rows` lines of at most `columns` characters. */
export function screenLines(model: DemoModel, size: ScreenSize, isColoured: boolean): readonly string[] {
  const layout = layoutOf(size, model.horizon);
  const lines: readonly Line[] = [
    ...header(model, size.columns),
    [],
    headings(layout, model.horizon),
    ...model.series
      .slice(0, seriesThatFit(size))
      .flatMap((view) => seriesBlock(view, layout, model.horizon, isColoured)),
    ...(layout.blankRows === 0 ? [[]] : []),
    ...footer(model, size.columns),
  ];
  return lines.slice(0, size.rows).map((line) => paint(line, size.columns, isColoured));
}

function header(model: DemoModel, width: number): readonly Line[] {
  const { state, seriesCount, elapsedSeconds, latency, coverage } = model;
  const clock = `${Math.floor(elapsedSeconds / 60)}:${String(elapsedSeconds % 60).padStart(2, "0")}`;
  const title: Line = [
    { text: " forecastnet demo", ink: "title" },
    { text: "  " },
    { text: state, ink: state === "ready" ? "good" : "title" },
    { text: `  ${count(seriesCount)} simulated series, one step a second`, ink: "faint" },
  ];
  const waits =
    latency === null ? "–" : `p50 ${milliseconds(latency.p50Ms)}, p99 ${milliseconds(latency.p99Ms)}`;
  return [
    justify(title, [{ text: `${clock} `, ink: "faint" }], width),
    [
      ...figure(count(model.observationsPerSecond), "observations/s "),
      ...figure(count(model.forecastsPerSecond), "forecasts/s "),
      ...figure(waits, "to forecast"),
    ],
    [
      ...figure(percent(coverage.inside, coverage.scored), `of ${count(coverage.scored)} inside the`),
      { text: "80 % band  ", ink: "band" },
      ...figure(count(model.deadLetters), "dead letters"),
    ],
  ];
}

function figure(value: string, label: string): readonly Span[] {
  return [{ text: ` ${value}` }, { text: ` ${label} `, ink: "faint" }];
}

function headings({ nameWidth, historyWidth }: Layout, horizon: number): Line {
  return [
    name("series, method", nameWidth, "faint"),
    { text: fit("observed", historyWidth), ink: "observed" },
    { text: "┊", ink: "faint" },
    { text: fit("forecast", horizon), ink: "forecast" },
    { text: "  now, next (80 %)", ink: "faint" },
  ];
}

function seriesBlock(
  view: SeriesView,
  layout: Layout,
  horizon: number,
  isColoured: boolean,
): readonly Line[] {
  const { nameWidth, historyWidth, chartRows, blankRows } = layout;
  const style = { rows: chartRows, columns: historyWidth, ahead: horizon, isColoured };
  const byWhom = `${view.method} (${view.tier})`;
  const method = byWhom.length > nameWidth - 2 ? view.method : byWhom;
  const before = [name(view.seriesId, nameWidth), name(method, nameWidth, "faint")];
  const after: readonly Line[] = [
    [{ text: `  ${nowText(view)} ` }, verdict(view.isInside)],
    [{ text: `  ${nextText(view)}`, ink: "forecast" }],
  ];
  const chart = drawChart(view.history, view.outlook, style);
  const lines = chart.map((row, i) => [before[i] ?? name("", nameWidth), ...row, ...(after[i] ?? [])]);
  return [...lines, ...Array.from({ length: blankRows }, () => [])];
}

function name(text: string, width: number, ink?: Ink): Span {
  const fitted = ` ${fit(text, width - 2)} `;
  return ink === undefined ? { text: fitted } : { text: fitted, ink };
}

function fit(text: string, width: number): string {
  return text.slice(0, width).padEnd(width);
}

function verdict(isInside: boolean | null): Span {
  if (isInside === null) return { text: "·", ink: "faint" };
  return isInside ? { text: "✓", ink: "good" } : { text: "✗ outside", ink: "bad" };
}

function footer({ address, news }: DemoModel, width: number): readonly Line[] {
  const pages: Line = [
    { text: ` ${address}/forecasts`, ink: "title" },
    { text: "  also /metrics /readyz", ink: "faint" },
  ];
  return [
    justify(pages, [{ text: "Ctrl-C stops ", ink: "faint" }], width),
    [{ text: ` ${news}`, ink: "faint" }],
  ];
}

/** One line with its two parts at either end; the right one gives way when there is no room. */
function justify(start: Line, end: Line, width: number): Line {
  const room = width - widthOf(start) - widthOf(end);
  return room < 1 ? start : [...start, { text: " ".repeat(room) }, ...end];
}
