// The demo as plain lines, for a file or a pipe. Pure, and without control characters.

import type { SeriesView } from "./forecast-board.ts";
import { paint } from "./paint.ts";
import { drawChart } from "./sparkline.ts";
import type { DemoModel } from "./view.ts";
import { count, milliseconds, nextText, nowText, percent } from "./wording.ts";

/** Steps of history in a line. */
export const plainSteps = 24;

/** One line on the whole and one for each series. */
export function plainLines(model: DemoModel): readonly string[] {
  const { latency, coverage } = model;
  const summary = [
    `${model.elapsedSeconds} s ${model.state}`,
    `${count(model.observationsPerSecond)} observations/s`,
    `${count(model.forecastsPerSecond)} forecasts/s`,
    latency === null
      ? "latency –"
      : `latency p50 ${milliseconds(latency.p50Ms)} p99 ${milliseconds(latency.p99Ms)}`,
    `80 % interval held ${percent(coverage.inside, coverage.scored)} of ${count(coverage.scored)}`,
    `${count(model.deadLetters)} dead letters`,
  ].join(" | ");
  return [summary, ...model.series.map((view) => plainSeries(view, model.horizon))];
}

function plainSeries(view: SeriesView, ahead: number): string {
  const [chart] = drawChart(view.history, view.outlook, {
    rows: 1,
    columns: plainSteps,
    ahead,
    isColoured: false,
  });
  const verdictText = view.isInside === null ? "" : view.isInside ? ", inside" : ", outside";
  const facts = `now ${nowText(view)}${verdictText}; next ${nextText(view)} by ${view.method}`;
  return `  ${view.seriesId.padEnd(18)} ${paint(chart, 200, false)}  ${facts}`;
}
