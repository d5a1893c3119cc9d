// Which candidates make up a model, and with what shares. Picking the one that validated best would be picking luck;
// shares are pulled towards what validates together, and held near equal by a penalty.
//
// Legend: w the shares, a and B as in `atoms.ts`, n candidates, s the best candidate's own CRPS.
//   minimise  CRPS(w)/s + penalty · Σ w_i·log(n·w_i)   over w ≥ 0, Σw = 1, by exponentiated gradients

import { distanceBetween, distanceToActual, type JudgedForecasts } from "./atoms.ts";

const penalty = 0.1;
const iterations = 400;
const rate = 0.5;
/** Additions per candidate after which a pool that finds nobody new is taken as it is. */
const turns = 4;

export interface Distances {
  readonly a: Float64Array;
  /** [i][j] */
  readonly b: Float64Array;
}

export function distancesOf(candidates: readonly JudgedForecasts[]): Distances {
  const n = candidates.length;
  const a = Float64Array.from(candidates, distanceToActual);
  const b = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      // Both ways round, since each takes other atoms.
      const distance =
        (distanceBetween(candidates[i], candidates[j]) + distanceBetween(candidates[j], candidates[i])) / 2;
      b[i * n + j] = distance;
      b[j * n + i] = distance;
    }
  }
  return { a, b };
}

/** The shares of at most `most` candidates; all others get none. */
export function chooseShares(distances: Distances, most: number): Float64Array {
  return weigh(distances, chooseMembers(distances, most));
}

/**
 * One after the other, each time the one that makes the pool of equal shares best. One that is in may be added again:
 * it then weighs more when the next is looked for, which finds better company than a pool of singles does.
 */
function chooseMembers({ a, b }: Distances, most: number): readonly number[] {
  const pool: number[] = [];
  const members = new Set<number>();
  const longest = turns * a.length;
  while (members.size < Math.min(most, a.length) && pool.length < longest) {
    let best = { crps: Number.POSITIVE_INFINITY, candidate: 0 };
    for (const candidate of a.keys()) {
      const crps = poolCrps({ a, b }, [...pool, candidate]);
      if (crps < best.crps) best = { crps, candidate };
    }
    pool.push(best.candidate);
    members.add(best.candidate);
  }
  return [...members];
}

/** CRPS of a pool with equal shares. */
function poolCrps({ a, b }: Distances, pool: readonly number[]): number {
  const share = 1 / pool.length;
  let crps = 0;
  for (const i of pool) {
    crps += share * a[i];
    for (const j of pool) crps -= 0.5 * share * share * b[i * a.length + j];
  }
  return crps;
}

function weigh({ a, b }: Distances, members: readonly number[]): Float64Array {
  const n = members.length;
  const best = Math.min(...members.map((i) => a[i] - 0.5 * b[i * a.length + i]));
  const scale = best > 0 ? best : 1;
  let w = new Float64Array(n).fill(1 / n);
  for (let turn = 0; turn < iterations; turn++) {
    const slope = w.map((share, k) => {
      const i = members[k];
      let pull = a[i];
      for (let m = 0; m < n; m++) pull -= w[m] * b[i * a.length + members[m]];
      return pull / scale + penalty * (Math.log(Math.max(share * n, 1e-12)) + 1);
    });
    const mean = slope.reduce((sum, one, k) => sum + one * w[k], 0);
    w = w.map((share, k) => share * Math.exp(-rate * (slope[k] - mean)));
    const total = w.reduce((sum, share) => sum + share, 0);
    w = w.map((share) => share / total);
  }
  const shares = new Float64Array(a.length);
  for (const [k, i] of members.entries()) shares[i] = w[k];
  return shares;
}
