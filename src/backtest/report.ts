// The report of a backtest: one HTML file that makes no requests, for screens light and dark and for paper. Ranked table, spread
// over the series, error by step, reliability, accuracy against cost, forecasts beside what came, and what the workers decided.

import { type BoxPlot, boxPlotHeight, drawBoxes } from "../plots/box-plot.ts";
import { drawFan, fanOf, fanSize, type TimedValue } from "../plots/fan-chart.ts";
import { element, escapeText, plotStyle } from "../plots/svg.ts";
import { drawXy, type XyChart } from "../plots/xy-chart.ts";
import type { SystemRun } from "./backtest.ts";
import type { BestTwo, Comparison, SystemSummary } from "./comparison.ts";
import type { SeriesResult } from "./scored-series.ts";
import type { SeriesPoints } from "./series-points.ts";
import type { ShownForecast } from "./shown-forecasts.ts";

export interface ReportParts {
  /** What was backtested, in words. */
  readonly subject: string;
  readonly comparison: Comparison;
  readonly runs: readonly SystemRun[];
  readonly series: readonly SeriesPoints[];
  /** Quantile levels. */
  readonly levels: readonly number[];
}

const chartWidth = 500;
const chartHeight = 300;
/** With fewer series, a box would stand for a handful of dots. */
const leastForBoxes = 5;
const mostDecisions = 60;
/** Of the past before a shown forecast: horizons. */
const shownHorizons = 4;

export function reportHtml(parts: ReportParts): string {
  const { subject, comparison, runs } = parts;
  const title = "Backtest";
  const sections = [
    section("Systems, the best first", table(comparison) + sentence(comparison.bestTwo)),
    spreadSection(parts),
    section("Errors, probabilities and cost", `<div class="charts">${charts(parts).join("")}</div>`),
    forecastSection(parts),
    decisionSection(runs, comparison),
  ];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>
${pageStyle}
${plotStyle}
</style>
</head>
<body>
<main>
<h1>${title}</h1>
<p>${escapeText(subject)}</p>
${sections.filter((one) => one !== "").join("\n")}
</main>
</body>
</html>
`;
}

const pageStyle = `
:root { color-scheme: light dark; --ink: #1f2937; --faint: #57606a; --rule: #d0d7de; --ground: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e5e7eb; --faint: #9ca3af; --rule: #374151; --ground: #111827; } }
@media print { :root { color-scheme: light; --ink: #000000; --faint: #444444; --rule: #cccccc; --ground: #ffffff; } section { break-inside: avoid; } }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 68rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; }
p { color: var(--faint); max-width: 46rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0.7rem; border-bottom: 1px solid var(--rule); text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
td.text, th.text { text-align: left; white-space: normal; }
tbody tr:first-child td { font-weight: 600; }
table.events tbody tr:first-child td { font-weight: inherit; }
.charts { display: flex; flex-wrap: wrap; gap: 1rem; }
svg { max-width: 100%; height: auto; }
`.trim();

function section(title: string, content: string): string {
  return content === "" ? "" : `<section>\n<h2>${escapeText(title)}</h2>\n${content}\n</section>`;
}

function svg(
  size: { readonly width: number; readonly height: number },
  name: string,
  content: string,
): string {
  const { width, height } = size;
  const box = { viewBox: `0 0 ${width} ${height}`, width, height };
  return element("svg", { class: "plot", ...box, role: "img", "aria-label": name }, content);
}

interface Column {
  readonly title: string;
  readonly text: (system: SystemSummary) => string;
}

function columnsOf(comparison: Comparison): readonly Column[] {
  const decimals = (value: number | null | undefined, digits = 3) =>
    value == null ? "–" : value.toFixed(digits);
  const coverage = comparison.systems[0]?.scores?.coverage ?? [];
  return [
    { title: "system", text: ({ name }) => name },
    { title: "MASE", text: ({ scores }) => decimals(scores?.mase) },
    { title: "CRPS", text: ({ scores }) => decimals(scores?.crps) },
    { title: "RMSSE", text: ({ scores }) => decimals(scores?.rmsse) },
    { title: "sMAPE", text: ({ scores }) => decimals(scores?.smape, 1) },
    { title: "MSIS", text: ({ scores }) => decimals(scores?.msis, 2) },
    ...coverage.map(
      ({ stated }, k): Column => ({
        title: `${Math.round(1000 * stated) / 10} % held`,
        text: ({ scores }) => `${decimals(100 * (scores?.coverage[k]?.observed ?? Number.NaN), 1)} %`,
      }),
    ),
    { title: "mean rank", text: ({ rank }) => decimals(rank, 2) },
    { title: "Borda", text: ({ borda }) => String(borda) },
    { title: "models promoted", text: ({ promotions }) => String(promotions) },
    { title: "CPU s", text: ({ cpuSeconds }) => decimals(cpuSeconds, 1) },
  ];
}

function table(comparison: Comparison): string {
  const columns = columnsOf(comparison);
  const cells = (system: SystemSummary) =>
    columns.map(({ text }) => `<td>${escapeText(text(system))}</td>`).join("");
  const head = columns.map(({ title }) => `<th scope="col">${escapeText(title)}</th>`).join("");
  const rows = comparison.systems.map((system) => `<tr>${cells(system)}</tr>`).join("\n");
  return `<div class="scroll" tabindex="0"><table><thead><tr>${head}</tr></thead><tbody>\n${rows}\n</tbody></table></div>
<p>Means over ${comparison.comparedSeries} series. Errors are divided by the mean change from step to step before the test part; lower is better. An interval should hold what it states.
Ranks are by CRPS.</p>`;
}

/** In words, or nothing. */
export function sentence(bestTwo: BestTwo | null): string {
  if (bestTwo === null) return "";
  const { best, second, origins, statistic, pValue } = bestTwo;
  const chance = pValue < 0.001 ? "below 0.1 %" : `${(100 * pValue).toFixed(1)} %`;
  const text = `${best} against ${second} over ${origins} origins: the Diebold–Mariano statistic is ${statistic.toFixed(2)}; a difference as large comes by chance with a probability of ${chance}.`;
  return `<p>${escapeText(text)}</p>`;
}

function spreadSection({ comparison, runs }: ReportParts): string {
  if (comparison.comparedSeries < leastForBoxes) return "";
  const groups = comparison.systems.map(({ name }) => ({ name, values: masesOf(runs, name) }));
  const plot: BoxPlot = { title: "MASE of each series", name: "MASE", groups, width: 2 * chartWidth };
  return section(
    "Spread over the series",
    svg({ width: plot.width, height: boxPlotHeight(plot) }, plot.title, drawBoxes(plot)),
  );
}

function masesOf(runs: readonly SystemRun[], name: string): readonly number[] {
  const run = runs.find(({ system }) => system.name === name);
  return (run?.series ?? []).flatMap(({ scores }) => (scores === null ? [] : [scores.mase]));
}

function charts({ comparison, levels }: ReportParts): readonly string[] {
  const scored = comparison.systems.flatMap(({ name, scores, cpuSeconds }) =>
    scores === null ? [] : [{ name, scores, cpuSeconds }],
  );
  const size = { width: chartWidth, height: chartHeight };
  const all: readonly XyChart[] = [
    {
      ...size,
      ...{ title: "Error by step ahead", xName: "step", yName: "MASE", isJoined: true },
      lines: scored.map(({ name, scores }) => ({
        name,
        points: scores.maseByStep.map((y, h) => ({ x: h + 1, y })),
      })),
    },
    {
      ...size,
      ...{
        title: "Reliability",
        xName: "stated probability",
        yName: "share of values not above",
        isJoined: true,
        hasDiagonal: true,
      },
      lines: scored.map(({ name, scores }) => ({
        name,
        points: levels.map((x, l) => ({ x, y: scores.belowByLevel[l] ?? Number.NaN })),
      })),
    },
    {
      ...size,
      ...{ title: "Accuracy against cost", xName: "CPU seconds", yName: "CRPS", isJoined: false },
      lines: scored.map(({ name, scores, cpuSeconds }) => ({
        name,
        points: [{ x: cpuSeconds, y: scores.crps }],
      })),
    },
  ];
  return all.map((chart) => svg(size, chart.title, drawXy(chart)));
}

interface Shown {
  readonly result: SeriesResult;
  readonly forecast: ShownForecast;
}

function forecastSection({ comparison, runs, series }: ReportParts): string {
  const [best] = comparison.systems;
  const run = runs.find(({ system }) => system.name === best?.name);
  if (run === undefined) return "";
  const all = run.series.flatMap((result) => result.shown.map((forecast): Shown => ({ result, forecast })));
  const sorted = all.toSorted((one, other) => one.forecast.crps - other.forecast.crps);
  const chosen = [0, Math.floor(sorted.length / 2), sorted.length - 1];
  const names = ["Best", "Middle", "Worst"];
  const drawn = [...new Set(chosen)].flatMap((at, i) => {
    const shown = sorted[at];
    return shown === undefined ? [] : [drawShown(names[i], shown, series)];
  });
  return section(`Forecasts of ${run.system.name}, and what came`, drawn.join("\n"));
}

function drawShown(
  name: string,
  { result: { seriesId }, forecast }: Shown,
  series: readonly SeriesPoints[],
): string {
  const { originMs, timesMs, levels, quantiles, crps } = forecast;
  const points = series.find((one) => one.seriesId === seriesId);
  const endMs = timesMs[timesMs.length - 1] ?? originMs;
  const fromMs = originMs - shownHorizons * (endMs - originMs);
  const between = (from: number, to: number): readonly TimedValue[] =>
    points === undefined
      ? []
      : Array.from(points.timesMs, (timeMs, i) => ({ timeMs, value: points.values[i] }))
          .filter(({ timeMs }) => timeMs >= from && timeMs <= to)
          .sort((one, other) => one.timeMs - other.timeMs);
  const title = `${name}: ${seriesId}`;
  const note = `from ${new Date(originMs).toISOString().slice(0, 16).replace("T", " ")}; CRPS ${crps.toFixed(2)}`;
  const past = between(fromMs, originMs);
  const actual = between(originMs, endMs);
  return svg(fanSize, title, drawFan({ title, note, past, fan: fanOf(levels, quantiles, timesMs), actual }));
}

function decisionSection(runs: readonly SystemRun[], { systems }: Comparison): string {
  const run = runs.find(({ system }) => system.name === systems[0]?.name);
  // A training that was asked for shows in what came of it.
  const decisions = (run?.decisions ?? []).filter(({ kind }) => kind !== "requested");
  if (run === undefined || decisions.length === 0) return "";
  const rows = decisions.slice(0, mostDecisions).map(({ seriesId, timeMs, kind, reason }) => {
    const when = new Date(timeMs).toISOString().slice(0, 16).replace("T", " ");
    return `<tr><td>${when}</td><td class="text">${escapeText(seriesId)}</td><td class="text">${escapeText(kind)}</td><td class="text">${escapeText(reason)}</td></tr>`;
  });
  const left = decisions.length - rows.length;
  const more = left > 0 ? `<p>The first ${rows.length} of ${decisions.length} decisions.</p>` : "";
  return section(
    `What ${run.system.name} decided about its models`,
    `<div class="scroll" tabindex="0"><table class="events"><thead><tr><th scope="col">time</th><th scope="col" class="text">series</th><th scope="col" class="text">decision</th><th scope="col" class="text">reason</th></tr></thead><tbody>
${rows.join("\n")}
</tbody></table></div>${more}`,
  );
}
