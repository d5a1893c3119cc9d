// Systems compared over the series that all of them were scored on: means, ranks, Borda counts, and whether the two best differ
// by more than chance.

import { normalTail } from "../models/normal.ts";
import type { SystemRun } from "./backtest.ts";
import type { Coverage, Scores } from "./test-scores.ts";

export interface SystemSummary {
  readonly name: string;
  /** Means over the series. Null when no series was scored. */
  readonly scores: Scores | null;
  /** Mean rank by CRPS; 1 is the best. */
  readonly rank: number;
  /** For each series, as many points as systems that do worse. */
  readonly borda: number;
  readonly promotions: number;
  readonly cpuSeconds: number;
}

/** The test of Diebold and Mariano, on the mean CRPS of all series at each origin. */
export interface BestTwo {
  readonly best: string;
  readonly second: string;
  /** Origins at which both forecast. */
  readonly origins: number;
  /** Negative where the best is better. */
  readonly statistic: number;
  /** Probability of a difference as large or larger by chance. */
  readonly pValue: number;
}

export interface Comparison {
  /** The best first. */
  readonly systems: readonly SystemSummary[];
  /** Series that every system was scored on. */
  readonly comparedSeries: number;
  /** Null for a single system, and for too few origins. */
  readonly bestTwo: BestTwo | null;
}

export function compareSystems(runs: readonly SystemRun[], horizon: number): Comparison {
  const [first] = runs;
  const ids = (first?.series ?? []).map(({ seriesId }) => seriesId);
  const compared = ids.flatMap((_, i) => (runs.every(({ series }) => series[i]?.scores != null) ? [i] : []));
  const scoresOf = (run: SystemRun, i: number) => run.series[i].scores as Scores;
  const points = runs.map(() => ({ rank: 0, borda: 0 }));
  for (const i of compared) {
    const crps = runs.map((run) => scoresOf(run, i).crps);
    for (const [r, own] of crps.entries()) {
      const better = crps.filter((other) => other < own).length;
      const equal = crps.filter((other) => other === own).length;
      const total = points[r];
      // Those that are equal share their ranks.
      total.rank += better + (equal + 1) / 2;
      total.borda += crps.length - better - equal;
    }
  }
  const summaries = runs.map((run, r): SystemSummary => {
    const own = compared.map((i) => scoresOf(run, i));
    return {
      name: run.system.name,
      scores: own.length === 0 ? null : meanScores(own),
      rank: points[r].rank / Math.max(1, compared.length),
      borda: points[r].borda,
      promotions: run.decisions.filter(({ kind }) => kind === "promoted").length,
      cpuSeconds: run.cpuSeconds,
    };
  });
  const crpsOf = ({ scores }: SystemSummary) => scores?.crps ?? Number.POSITIVE_INFINITY;
  const systems = summaries.toSorted((one, other) => crpsOf(one) - crpsOf(other));
  const runOf = (summary: SystemSummary | undefined) =>
    runs.find(({ system }) => system.name === summary?.name);
  const [best, second] = [runOf(systems[0]), runOf(systems[1])];
  const bestTwo = best === undefined || second === undefined ? null : dieboldMariano(best, second, horizon);
  return { systems, comparedSeries: compared.length, bestTwo };
}

function meanScores(all: readonly Scores[]): Scores {
  const mean = (of: (scores: Scores) => number) => all.reduce((sum, one) => sum + of(one), 0) / all.length;
  const [first] = all as [Scores];
  return {
    steps: all.reduce((sum, { steps }) => sum + steps, 0),
    mase: mean(({ mase }) => mase),
    smape: mean(({ smape }) => smape),
    rmsse: mean(({ rmsse }) => rmsse),
    crps: mean(({ crps }) => crps),
    msis: first.msis === null ? null : mean(({ msis }) => msis ?? 0),
    coverage: first.coverage.map(({ stated }, k): Coverage => {
      const at = (of: (one: Coverage) => number) => mean(({ coverage }) => of(coverage[k]));
      return { stated, observed: at(({ observed }) => observed), width: at(({ width }) => width) };
    }),
    maseByStep: first.maseByStep.map((_, h) => {
      const known = all.map(({ maseByStep }) => maseByStep[h]).filter(Number.isFinite);
      return known.reduce((sum, error) => sum + error, 0) / known.length;
    }),
    belowByLevel: first.belowByLevel.map((_, l) => mean(({ belowByLevel }) => belowByLevel[l])),
  };
}

/** Fewer differences say nothing about chance. */
const leastOrigins = 16;

/**
 * d: difference of CRPS at each origin, in the order of time. Forecasts of h steps overlap, so their errors correlate over h − 1
 * origins: the variance of the mean counts that (Newey and West). The statistic is corrected for few origins (Harvey et al.).
 */
function dieboldMariano(best: SystemRun, second: SystemRun, horizon: number): BestTwo | null {
  const d = differences(best, second);
  const n = d.length;
  if (n < Math.max(leastOrigins, 2 * horizon)) return null;
  const mean = d.reduce((sum, one) => sum + one, 0) / n;
  const lags = horizon - 1;
  const covariance = (lag: number) => {
    let sum = 0;
    for (let t = lag; t < n; t++) sum += (d[t] - mean) * (d[t - lag] - mean);
    return sum / n;
  };
  let variance = covariance(0);
  for (let lag = 1; lag <= lags; lag++) variance += 2 * (1 - lag / (lags + 1)) * covariance(lag);
  if (!(variance > 0)) return null;
  const correction = Math.sqrt((n + 1 - 2 * horizon + (horizon * (horizon - 1)) / n) / n);
  const statistic = (correction * mean) / Math.sqrt(variance / n);
  const names = { best: best.system.name, second: second.system.name };
  return { ...names, origins: n, statistic, pValue: 2 * normalTail(Math.abs(statistic)) };
}

/** Of the means over the series that both forecast at an origin. */
function differences(one: SystemRun, other: SystemRun): readonly number[] {
  const sums = new Map<number, { sum: number; count: number }>();
  for (const [i, { originsMs, crps }] of one.series.entries()) {
    const rival = other.series[i];
    const rivalByOrigin = new Map(Array.from(rival.originsMs, (ms, k) => [ms, rival.crps[k]]));
    for (const [k, ms] of originsMs.entries()) {
      const theirs = rivalByOrigin.get(ms);
      if (theirs === undefined) continue;
      const total = sums.get(ms) ?? { sum: 0, count: 0 };
      total.sum += crps[k] - theirs;
      total.count++;
      sums.set(ms, total);
    }
  }
  return [...sums].sort(([a], [b]) => a - b).map(([, { sum, count }]) => sum / count);
}
