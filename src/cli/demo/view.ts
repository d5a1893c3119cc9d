// Draws the demo as lines of text: a screen with totals and a few series with charts, or plain lines for a file or a
// pipe, which contain no control characters. Pure: the same model and size give the same lines.

import { type Ink, type Line, paint, type Span, widthOf } from "../styled-text.ts";
import { drawChart } from "../terminal-chart.ts";
import type { Coverage, Latency, SeriesView } from "./forecast-board.ts";
import type { NewsItem, Tone } from "./news.ts";
import {
  clockText,
  count,
  coverageText,
  maseText,
  milliseconds,
  nextText,
  nowText,
  percent,
} from "./number-text.ts";
import { stepMs } from "./settings.ts";

export interface DemoModel {
  readonly state: string;
  readonly seriesCount: number;
  readonly elapsedSeconds: number;
  readonly observationsPerSecond: number;
  readonly forecastsPerSecond: number;
  /** From sending an observation to receiving its forecast; null before the first. */
  readonly latency: Latency | null;
  readonly deadLetters: number;
  readonly coverage: Coverage;
  readonly horizon: number;
  readonly address: string;
  /** Series that are forecast by a model. */
  readonly modelled: number;
  /** Series whose model is stale. */
  readonly stale: ReadonlySet<string>;
  /** The present step of the scenario; null before it starts. */
  readonly headline: string | null;
  /** Oldest first. */
  readonly news: readonly NewsItem[];
  readonly series: readonly SeriesView[];
}

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/** Rows for neither series nor news. */
const frameRows = 9;
const wantedSeries = 8;
const fewestNews = 3;
export const mostNews = 8;
const stepsPerSecond = 1000 / stepMs;
const nowWidth = 20;
const scoreWidth = 7;

interface Layout {
  readonly nameWidth: number;
  readonly historyWidth: number;
  readonly chartRows: number;
  readonly blankRows: number;
  readonly newsRows: number;
}

function layoutOf({ columns, rows }: ScreenSize, horizon: number): Layout {
  const nameWidth = columns >= 100 ? 24 : 19;
  const historyWidth = Math.max(4, columns - nameWidth - nowWidth - scoreWidth - horizon - 1);
  const newsRows = Math.min(mostNews, Math.max(fewestNews, Math.floor(rows / 8)));
  const rowsEach = Math.floor((rows - frameRows - newsRows) / wantedSeries);
  const [chartRows, blankRows] = [rowsEach >= 4 ? 3 : 2, rowsEach >= 3 ? 1 : 0];
  return { nameWidth, historyWidth, chartRows, blankRows, newsRows };
}

export function seriesThatFit(size: ScreenSize): number {
  const { chartRows, blankRows, newsRows } = layoutOf(size, 0);
  return Math.max(1, Math.floor((size.rows - frameRows - newsRows) / (chartRows + blankRows)));
}

/** At most `rows` lines of at most `columns` characters. */
export function screenLines(model: DemoModel, size: ScreenSize, isColoured: boolean): readonly string[] {
  const layout = layoutOf(size, model.horizon);
  const lines: readonly Line[] = [
    ...header(model, size.columns),
    [],
    ...headings(layout, model.horizon),
    ...model.series
      .slice(0, seriesThatFit(size))
      .flatMap((view) => seriesBlock(view, model, layout, isColoured)),
    ...(layout.blankRows === 0 ? [[]] : []),
    ...newsLines(model, layout.newsRows, size.columns),
    footer(model, size.columns),
  ];
  return lines.slice(0, size.rows).map((line) => paint(line, size.columns, isColoured));
}

function header(model: DemoModel, width: number): readonly Line[] {
  const { state, seriesCount, elapsedSeconds, latency, coverage } = model;
  const title: Line = [
    { text: " forecastnet demo", ink: "title" },
    { text: "  " },
    { text: state, ink: state === "ready" ? "good" : "title" },
    { text: `  ${count(seriesCount)} simulated series, ${stepsPerSecond} steps a second`, ink: "faint" },
  ];
  const waits =
    latency === null ? "–" : `p50 ${milliseconds(latency.p50Ms)}, p99 ${milliseconds(latency.p99Ms)}`;
  return [
    justify(title, [{ text: `${clockText(elapsedSeconds)} `, ink: "faint" }], width),
    [
      ...figure(count(model.observationsPerSecond), "observations/s "),
      ...figure(count(model.forecastsPerSecond), "forecasts/s "),
      ...figure(waits, "to forecast"),
    ],
    [
      ...figure(percent(coverage.inside, coverage.scored), `of ${count(coverage.scored)} inside the`),
      { text: "80 % band  ", ink: "band" },
      ...figure(count(model.deadLetters), "dead letters "),
      ...figure(`${count(model.modelled)} of ${count(seriesCount)}`, "on models"),
    ],
  ];
}

function figure(value: string, label: string): readonly Span[] {
  return [{ text: ` ${value}` }, { text: ` ${label} `, ink: "faint" }];
}

function headings({ nameWidth, historyWidth }: Layout, horizon: number): readonly Line[] {
  return [
    [
      name("series", nameWidth, "faint"),
      { text: " ".repeat(historyWidth + 1 + horizon) },
      { text: fit("  now", nowWidth), ink: "faint" },
      score("MASE", "faint"),
    ],
    [
      name("forecast by", nameWidth, "faint"),
      { text: fit("observed", historyWidth), ink: "observed" },
      { text: "┊", ink: "faint" },
      { text: fit("forecast", horizon), ink: "forecast" },
      { text: fit("  next (80 %)", nowWidth), ink: "faint" },
      score("cover", "faint"),
    ],
  ];
}

function seriesBlock(
  view: SeriesView,
  { horizon, stale }: DemoModel,
  layout: Layout,
  isColoured: boolean,
): readonly Line[] {
  const { nameWidth, historyWidth, chartRows, blankRows } = layout;
  const style = { rows: chartRows, columns: historyWidth, ahead: horizon, isColoured };
  const before = [name(view.seriesId, nameWidth), methodOf(view, stale.has(view.seriesId), nameWidth)];
  const after: readonly Line[] = [
    [...padded([{ text: `  ${nowText(view)} ` }, verdict(view.isInside)], nowWidth), score(maseText(view))],
    [...padded([{ text: `  ${nextText(view)}`, ink: "forecast" }], nowWidth), score(coverageText(view))],
  ];
  const chart = drawChart(view.history, view.outlook, style);
  const lines = chart.map((row, i) => [before[i] ?? name("", nameWidth), ...row, ...(after[i] ?? [])]);
  return [...lines, ...Array.from({ length: blankRows }, () => [])];
}

function methodOf({ method, tier }: SeriesView, isStale: boolean, width: number): Span {
  if (isStale) return name(`${method} stale`, width, "bad");
  const inFull = `${method} (${tier})`;
  return name(
    tier === "" || inFull.length > width - 2 ? method : inFull,
    width,
    tier === "model" ? "good" : "faint",
  );
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
  return isInside ? { text: "✓", ink: "good" } : { text: "✗", ink: "bad" };
}

function score(text: string, ink?: Ink): Span {
  const fitted = text.padStart(scoreWidth - 1);
  return ink === undefined ? { text: fitted } : { text: fitted, ink };
}

function padded(line: Line, width: number): Line {
  return [...line, { text: " ".repeat(Math.max(0, width - widthOf(line))) }];
}

const inkByTone: Readonly<Record<Tone, Ink>> = { good: "good", bad: "bad", plain: "faint" };

/** Columns for the time of a news line. */
const newsIndent = 8;

/** The headline stays on the screen while news scrolls by. */
function newsLines({ headline, news }: DemoModel, rows: number, width: number): readonly Line[] {
  const latest = news.slice(-rows);
  return [
    headline === null ? [] : [{ text: ` ${headline}`, ink: "title" }],
    ...latest.map(
      ({ seconds, text, tone }): Line => [
        { text: ` ${clockText(seconds)}  `, ink: "faint" },
        { text: shorten(text, width - newsIndent), ink: inkByTone[tone] },
      ],
    ),
    ...Array.from({ length: rows - latest.length }, () => []),
  ];
}

function shorten(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

function footer({ address }: DemoModel, width: number): Line {
  const pages: Line = [
    { text: ` ${address}/forecasts`, ink: "title" },
    { text: "  also /models /metrics /readyz", ink: "faint" },
  ];
  return justify(pages, [{ text: "Ctrl-C stops ", ink: "faint" }], width);
}

/** Puts the two parts at either end of a line; drops the right part when there is no room. */
function justify(start: Line, end: Line, width: number): Line {
  const room = width - widthOf(start) - widthOf(end);
  return room < 1 ? start : [...start, { text: " ".repeat(room) }, ...end];
}

/** Steps of history in a plain line. */
export const plainSteps = 24;

/** A summary and one line per series. */
export function plainLines(model: DemoModel): readonly string[] {
  const { latency, coverage } = model;
  const summary = [
    `${model.elapsedSeconds} s ${model.state}`,
    `${count(model.observationsPerSecond)} observations/s`,
    `${count(model.forecastsPerSecond)} forecasts/s`,
    latency === null
      ? "latency –"
      : `latency p50 ${milliseconds(latency.p50Ms)} p99 ${milliseconds(latency.p99Ms)}`,
    `80 % interval covers ${percent(coverage.inside, coverage.scored)} of ${count(coverage.scored)}`,
    `${count(model.deadLetters)} dead letters`,
    `${count(model.modelled)} of ${count(model.seriesCount)} series forecast by a model`,
  ].join(" | ");
  return [summary, ...model.series.map((view) => plainSeries(view, model))];
}

export function newsLine({ seconds, text }: NewsItem): string {
  return `${clockText(seconds)}  ${text}`;
}

function plainSeries(view: SeriesView, { horizon, stale }: DemoModel): string {
  const [chart] = drawChart(view.history, view.outlook, {
    rows: 1,
    columns: plainSteps,
    ahead: horizon,
    isColoured: false,
  });
  const verdictText = view.isInside === null ? "" : view.isInside ? ", inside" : ", outside";
  const method = `${view.method}${stale.has(view.seriesId) ? ", which is stale" : ""}`;
  const scoresText = view.scores === null ? "" : `; MASE ${maseText(view)}, coverage ${coverageText(view)}`;
  const facts = `now ${nowText(view)}${verdictText}; next ${nextText(view)} by ${method}${scoresText}`;
  return `  ${view.seriesId.padEnd(18)} ${paint(chart, 200, false)}  ${facts}`;
}
