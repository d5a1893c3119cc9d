// The table of `bench:accuracy`, printed and written to docs/accuracy.md.

import type { Section } from "../rig/report.ts";
import { type Marked, markedForecasters, markOf } from "./marks.ts";
import type { Score } from "./protocol.ts";

export interface SeriesScores {
  readonly name: string;
  readonly naive: Score;
  /** One per ensemble size. */
  readonly ours: readonly Score[];
  readonly trainingSeconds: number;
  /** Of the weights, per ensemble size. */
  readonly kilobytes: readonly number[];
}

const marks = Object.keys(markedForecasters) as Marked[];

export function accuracySection(sizes: readonly number[], scores: readonly SeriesScores[]): Section {
  const hasMarks = scores.every(({ name }) => markOf(name, "arima") !== null);
  const rivals = hasMarks ? marks : [];
  const ofRival = (series: string, rival: Marked) => markOf(series, rival) as Score;
  const columns = [
    "series",
    "seasonal-naive",
    ...rivals,
    ...sizes.map((size) => (size === 1 ? "**1 net**" : `**${size} nets**`)),
  ];
  const rows = scores.map(({ name, naive, ours }) => [
    name,
    show(naive),
    ...rivals.map((rival) => show(ofRival(name, rival))),
    ...ours.map(show),
  ]);
  const means = [
    "geometric mean against seasonal-naive, mean coverage",
    summary(scores.map(({ naive }) => [naive, naive])),
    ...rivals.map((rival) => summary(scores.map(({ name, naive }) => [ofRival(name, rival), naive]))),
    ...sizes.map((_, i) => summary(scores.map(({ naive, ours }) => [ours[i], naive]))),
  ];
  return {
    title: "MASE / CRPS / coverage of the 80 % interval",
    method,
    columns,
    rows: [...rows, means],
    outcome: outcomeOf(sizes, scores),
  };
}

const method = `The test part is the last tenth of each series, at most 1,000 points. A forecast of one season starts at every half season of the test part. All learning and
all choices use at most 3,000 points before the test part. MASE and CRPS (twice the mean pinball loss over
the quantiles .05 … .95) are divided by the mean one-step change before the test part. Lower is better. Coverage should be .80.

\`seasonal-naive\` is the family that workers serve: the last season, with the distribution of its recent errors. Its point forecast is the median.

Our columns are models trained by this project (\`src/models/forecastnet/training/train-candidates.ts\`) with one seed: nets with the paper's dense cells and a linear shortcut that starts from a closed-form fit. Four frames and four window
lengths are candidates, all judged on two folds of the past. "4 nets" serves the best combination of four nets as one mixture of 100 sample paths. The other forecasters were measured
once with their own libraries, by the same protocol, and are quoted: ${marks.map((mark) => `\`${mark}\` ${markedForecasters[mark]}`).join("; ")}.`;

function outcomeOf(sizes: readonly number[], scores: readonly SeriesScores[]): string {
  const seconds = scores.map(({ trainingSeconds }) => trainingSeconds);
  const sizesInWords = sizes.map((size, i) => {
    const kilobytes = scores.map((score) => score.kilobytes[i]);
    return `${size === 1 ? "1 net" : `${size} nets`} ${Math.round(Math.min(...kilobytes))} to ${Math.round(Math.max(...kilobytes))} kB`;
  });
  return `Training took ${Math.round(Math.min(...seconds))} to ${Math.round(Math.max(...seconds))} s per series on this machine. Weights: ${sizesInWords.join(", ")}.`;
}

function show({ mase, crps, coverage80 }: Score): string {
  return `${mase.toFixed(3)} / ${crps.toFixed(3)} / ${coverage80.toFixed(2)}`;
}

function summary(pairs: readonly (readonly [Score, Score])[]): string {
  const geometric = (of: (score: Score) => number) =>
    Math.exp(pairs.reduce((sum, [score, naive]) => sum + Math.log(of(score) / of(naive)), 0) / pairs.length);
  const coverage80 = pairs.reduce((sum, [score]) => sum + score.coverage80, 0) / pairs.length;
  return show({ mase: geometric(({ mase }) => mase), crps: geometric(({ crps }) => crps), coverage80 });
}
