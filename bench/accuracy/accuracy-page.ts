// The tables of `bench:accuracy`, printed and written to docs/accuracy.md.

import type { Section } from "../rig/report.ts";
import { type Anchor, type AnchorScore, anchors } from "./anchors.ts";
import type { Recipe } from "./forecasters.ts";
import { type Marked, markedForecasters, markOf } from "./marks.ts";
import type { HistoryRule, Score } from "./protocol.ts";

export interface ModelScore {
  readonly score: Score;
  /** Of training, all threads together. */
  readonly cpuSeconds: number;
  /** Of the stored model. */
  readonly bytes: number;
}

export interface SeriesScores {
  readonly name: string;
  readonly naive: Score;
  /** Of other libraries, where they were run. */
  readonly anchors: ReadonlyMap<Anchor, AnchorScore>;
  /** One per recipe. */
  readonly ours: readonly ModelScore[];
}

const marks = Object.keys(markedForecasters) as Marked[];

/** `groups` are the samples, and more of them. */
export function accuracySection(
  history: HistoryRule,
  recipes: readonly Recipe[],
  groups: readonly (readonly SeriesScores[])[],
): Section {
  const all = groups.flat();
  // Other forecasters were measured with the long history.
  const rivals =
    history.name === "long" ? marks.filter((mark) => all.some(({ name }) => markOf(name, mark))) : [];
  const run = (Object.keys(anchors) as Anchor[]).filter((anchor) =>
    all.some((one) => one.anchors.has(anchor)),
  );
  const columns = [
    ...["series", "seasonal-naive", ...rivals, ...run],
    ...recipes.map(({ name }) => `**${name}**`),
  ];
  const anchorOf = (one: SeriesScores, anchor: Anchor) => one.anchors.get(anchor)?.score ?? null;
  const rows = all.map((one) => [
    one.name,
    show(one.naive),
    ...rivals.map((rival) => showOrDash(markOf(one.name, rival))),
    ...run.map((anchor) => showOrDash(anchorOf(one, anchor))),
    ...one.ours.map(({ score }) => show(score)),
  ]);
  const filled = groups.filter((group) => group.length > 0);
  const parts = filled.length > 1 ? [...filled, all] : [all];
  const means = parts.map((part) => [
    `geometric mean against seasonal-naive, mean coverage: ${part.length} series`,
    summary(part, ({ naive }) => naive),
    ...rivals.map((rival) => summary(part, ({ name }) => markOf(name, rival))),
    ...run.map((anchor) => summary(part, (one) => anchorOf(one, anchor))),
    ...recipes.map((_, i) => summary(part, ({ ours }) => ours[i].score)),
  ]);
  const costs = [
    costRow("CPU seconds per model, median (most)", ({ cpuSeconds }) => cpuSeconds, 2),
    costRow("kB per model in float16, median (most)", ({ bytes }) => bytes / 1_000, 1),
  ];
  return {
    title: `${history.title}: MASE / CRPS / coverage of the 80 % interval`,
    method: [
      history.name === "long" ? longMethod : method,
      ...(run.length > 0 ? [anchorMethod(run)] : []),
    ].join("\n\n"),
    columns,
    rows: [...rows, ...means, ...costs],
  };

  function costRow(title: string, of: (model: ModelScore) => number, digits: number): readonly string[] {
    const cells = recipes.map((_, i) => {
      const costs = all.map(({ ours }) => of(ours[i])).sort((one, other) => one - other);
      return `${costs[Math.floor(costs.length / 2)].toFixed(digits)} (${costs[costs.length - 1].toFixed(digits)})`;
    });
    return [title, ...["seasonal-naive", ...rivals, ...run].map(() => ""), ...cells];
  }
}

const method = `The test part is the last tenth of each series, at most 1,000 points. A forecast of one season (τ) starts at every half season of the test part. All learning and
all choices use the 60 τ before the test part: what a worker stores by default. MASE and CRPS (twice the mean pinball loss over
the quantiles .05 … .95) are divided by the mean one-step change before the test part. Lower is better. Coverage is that of the uncalibrated interval and should be .80.

\`seasonal-naive\` is the family that workers serve to series without a model: the last season, with the distribution of its recent errors. \`linear\` is the linear
family, the first model of a series; \`quick\`, \`normal\` and \`thorough\` are what follows with that \`retrain.effort\`: linear and ForecastNet models, averaged if that validates better than
the best alone. All are trained as a worker trains them, with one seed, before the gate: a worker would refuse those that are worse than seasonal-naive.`;

const longMethod = `The same with at most 3,000 points before the test part, as the other forecasters had. Those were measured once with their own libraries, by the same
protocol, and are quoted: ${marks.map((mark) => `\`${mark}\` ${markedForecasters[mark]}`).join("; ")}.`;

function anchorMethod(run: readonly Anchor[]): string {
  const names = run.map((anchor) => `\`${anchor}\` ${anchors[anchor]}`).join("; ");
  return `Other libraries, run on the same series in the same way, fitted once: ${names}. flaircast has no separate fit and was fitted at every origin.`;
}

function show({ mase, crps, coverage80 }: Score): string {
  return `${mase.toFixed(3)} / ${crps.toFixed(3)} / ${coverage80.toFixed(2)}`;
}

function showOrDash(score: Score | null): string {
  return score === null ? "–" : show(score);
}

/** A dash where a forecaster was not measured on all of the series. */
function summary(series: readonly SeriesScores[], scoreOf: (one: SeriesScores) => Score | null): string {
  const scores = series.map(scoreOf).filter((score) => score !== null);
  if (scores.length < series.length) return "–";
  const geometric = (of: (score: Score) => number) =>
    Math.exp(
      scores.reduce((sum, score, i) => sum + Math.log(of(score) / of(series[i].naive)), 0) / scores.length,
    );
  const coverage80 = scores.reduce((sum, score) => sum + score.coverage80, 0) / scores.length;
  return show({ mase: geometric(({ mase }) => mase), crps: geometric(({ crps }) => crps), coverage80 });
}
