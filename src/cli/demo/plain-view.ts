// The demo as plain lines, for a file or a pipe. Pure, and without control characters.

import type { SeriesView } from "./forecast-board.ts";
import type { NewsItem } from "./newsroom.ts";
import { paint } from "./paint.ts";
import { drawChart } from "./sparkline.ts";
import type { DemoModel } from "./view.ts";
import { clockText, count, heldText, maseText, milliseconds, nextText, nowText, percent } from "./wording.ts";

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
  const byWhom = `${view.method}${stale.has(view.seriesId) ? ", which is stale" : ""}`;
  const scoresText = view.scores === null ? "" : `; MASE ${maseText(view)}, held ${heldText(view)}`;
  const facts = `now ${nowText(view)}${verdictText}; next ${nextText(view)} by ${byWhom}${scoresText}`;
  return `  ${view.seriesId.padEnd(18)} ${paint(chart, 200, false)}  ${facts}`;
}
