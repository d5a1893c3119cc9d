// Several candidates as one mixture at the judged origins: its quantiles, and by how much it should be widened.

import { ScoreSheet } from "../../models/scores.ts";
import { atomCount, type JudgedForecasts } from "./atoms.ts";

/** Where scores of a mixture are taken. */
export const scoreLevels: readonly number[] = Array.from({ length: 19 }, (_, i) => (i + 1) / 20);

const widths = Array.from({ length: 19 }, (_, i) => 0.7 + 0.05 * i);

/** Quantiles of the pooled atoms at each point, [point][level]. */
export function poolQuantiles(
  members: readonly JudgedForecasts[],
  shares: readonly number[],
): Float64Array[] {
  const points = members[0].actual.length;
  const atoms = members.length * atomCount;
  const values = new Float64Array(atoms);
  const weights = new Float64Array(atoms);
  const order = Array.from({ length: atoms }, (_, i) => i);
  for (let i = 0; i < atoms; i++) weights[i] = shares[Math.floor(i / atomCount)] / atomCount;
  return Array.from({ length: points }, (_, p) => {
    for (const [m, { atoms: own }] of members.entries()) {
      for (let k = 0; k < atomCount; k++) values[m * atomCount + k] = own[p * atomCount + k];
    }
    order.sort((i, j) => values[i] - values[j]);
    return quantilesOf(values, weights, order);
  });
}

/** Each atom stands in the middle of its own weight; between two of them the quantile is linear. */
function quantilesOf(values: Float64Array, weights: Float64Array, order: readonly number[]): Float64Array {
  const quantiles = new Float64Array(scoreLevels.length);
  let below = 0;
  let level = 0;
  let before = { at: Number.NEGATIVE_INFINITY, value: values[order[0]] };
  for (const i of order) {
    const at = below + weights[i] / 2;
    while (level < scoreLevels.length && scoreLevels[level] <= at) {
      const share =
        before.at === Number.NEGATIVE_INFINITY ? 1 : (scoreLevels[level] - before.at) / (at - before.at);
      quantiles[level++] = before.value + share * (values[i] - before.value);
    }
    before = { at, value: values[i] };
    below += weights[i];
  }
  while (level < scoreLevels.length) quantiles[level++] = before.value;
  return quantiles;
}

export function scorePooled(quantiles: readonly Float64Array[], actual: Float64Array, width = 1): ScoreSheet {
  const sheet = new ScoreSheet(scoreLevels);
  const median = (scoreLevels.length - 1) / 2;
  for (const [p, own] of quantiles.entries()) {
    sheet.add(
      actual[p],
      own.map((quantile) => own[median] + width * (quantile - own[median])),
    );
  }
  return sheet;
}

/** The factor by which the mixture is best widened around its middle. */
export function chooseWidth(quantiles: readonly Float64Array[], actual: Float64Array): number {
  const scores = widths.map((width) => scorePooled(quantiles, actual, width).crps(1));
  return widths[scores.indexOf(Math.min(...scores))];
}
