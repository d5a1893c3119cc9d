// The metrics of a fleet's quality counted anew from every series: the answer that counts kept up to date must give.

import { metricTable } from "../../src/runtime/metric-table.ts";
import type { ScoreStore } from "../../src/score/score-store.ts";

interface Recount {
  readonly mase: readonly number[];
  readonly maseSum: number;
  readonly scaledCrps: readonly number[];
  readonly scaledCrpsSum: number;
  /** One per interval. */
  readonly coverage: readonly (readonly number[])[];
  /** The largest MASEs, the largest first. */
  readonly worst: readonly number[];
  readonly phases: Readonly<Record<string, number>>;
}

export function recount(stores: Iterable<ScoreStore>, mostWorst: number): Recount {
  const phases: Record<string, number> = { cold: 0, training: 0, champion: 0, drifting: 0 };
  const mases: number[] = [];
  const crpss: number[] = [];
  const coverages: number[][] = [];
  for (const store of stores) {
    for (const { life, period, scoredSlots } of store) {
      phases[life.phase]++;
      const scores = period?.scores() ?? null;
      if (period === null || scores === null || scoredSlots < period.frame.horizon) continue;
      const { naiveErrors } = period.frame;
      mases.push(scores.mase);
      crpss.push((scores.crps * naiveErrors.length) / naiveErrors.reduce((sum, error) => sum + error, 0));
      for (const [i, { observed }] of scores.coverage.entries()) {
        coverages[i] ??= [];
        coverages[i].push(observed);
      }
    }
  }
  return {
    mase: countByBucket(mases, metricTable.seriesMase.buckets),
    maseSum: mases.reduce((sum, mase) => sum + mase, 0),
    scaledCrps: countByBucket(crpss, metricTable.seriesCrps.buckets),
    scaledCrpsSum: crpss.reduce((sum, crps) => sum + crps, 0),
    coverage: coverages.map((values) => countByBucket(values, metricTable.seriesCoverage.buckets)),
    worst: [...mases].sort((one, other) => other - one).slice(0, mostWorst),
    phases,
  };
}

/** The last bucket has what lies above all bounds. */
function countByBucket(values: readonly number[], bounds: readonly number[]): number[] {
  const counts = new Array<number>(bounds.length + 1).fill(0);
  for (const value of values) counts[bounds.filter((bound) => value > bound).length]++;
  return counts;
}
