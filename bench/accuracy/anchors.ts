// Forecasters of other libraries on the same series, by the same protocol: statsforecast and flaircast, run by Python. They are
// optional: without a Python that has them, the bench says so and leaves their columns out.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { ScoreSheet } from "../../src/models/scores.ts";
import { projectRoot } from "../../test/rig/project.ts";
import { type HistoryRule, levels, originsOf, pastOf, type Score, unitOf } from "./protocol.ts";
import type { SampleSeries } from "./sample-series.ts";

/** In words for the page. */
export const anchors = {
  autoarima: "statsforecast AutoARIMA",
  autoets: "statsforecast AutoETS",
  theta: "statsforecast DynamicOptimizedTheta",
  mstl: "statsforecast MSTL",
  flair: "flaircast",
} as const;

export type Anchor = keyof typeof anchors;

export interface AnchorScore {
  readonly score: Score;
  /** Of the fit and all forecasts. */
  readonly cpuSeconds: number;
}

/** By series, then by anchor. */
export type AnchorScores = ReadonlyMap<string, ReadonlyMap<Anchor, AnchorScore>>;

interface Line {
  readonly series: string;
  readonly model: Anchor;
  readonly cpuSeconds: number;
  /** [origin][level][step] */
  readonly quantiles?: readonly (readonly (readonly number[])[])[];
  readonly failed?: string;
}

const freqBySeason: Readonly<Record<number, string>> = {
  4: "Q",
  7: "D",
  12: "M",
  24: "H",
  48: "30T",
  96: "15T",
};

export async function scoreAnchors(
  python: string,
  models: readonly Anchor[],
  series: readonly SampleSeries[],
  history: HistoryRule,
): Promise<AnchorScores> {
  const script = join(projectRoot, "bench", "rivals", "accuracy_anchors.py");
  const child = spawn(python, [script], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, OMP_NUM_THREADS: "1", OPENBLAS_NUM_THREADS: "1" },
  });
  child.stdin.end(JSON.stringify({ levels, models, series: series.map((one) => taskOf(one, history)) }));
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  const scores = new Map<string, Map<Anchor, AnchorScore>>();
  for await (const text of createInterface(child.stdout)) {
    const line = JSON.parse(text) as Line;
    const { series: name, model, cpuSeconds, quantiles, failed } = line;
    process.stderr.write(`${name}, ${model}: ${failed ?? `${cpuSeconds.toFixed(1)} s`}\n`);
    const sample = series.find((one) => one.name === name);
    if (quantiles === undefined || sample === undefined) continue;
    const own = scores.get(name) ?? new Map<Anchor, AnchorScore>();
    own.set(model, { score: scoreOf(sample, quantiles), cpuSeconds });
    scores.set(name, own);
  }
  if ((await ended) !== 0) throw new Error(`${python} ${script} failed; its last lines say why`);
  return scores;
}

function taskOf(series: SampleSeries, history: HistoryRule) {
  const { name, values, season, horizon } = series;
  const origins = originsOf(series);
  const past = [pastOf(series, history).firstStep, origins[0]];
  const freq = freqBySeason[season] ?? "H";
  return { name, values: [...values], past, origins, horizon, season, freq };
}

function scoreOf(series: SampleSeries, forecasts: NonNullable<Line["quantiles"]>): Score {
  const sheet = new ScoreSheet(levels);
  for (const [i, origin] of originsOf(series).entries()) {
    for (let h = 0; h < series.horizon; h++)
      sheet.add(
        series.values[origin + h],
        forecasts[i].map((quantiles) => quantiles[h]),
      );
  }
  const unit = unitOf(series);
  return { mase: sheet.mase(unit), crps: sheet.crps(unit), coverage80: sheet.coverage80 };
}
