// Weighs models of several families by their held-out forecasts. The forecast of an ensemble is the weighted mean of its members'
// quantiles, level by level: unlike a mixture, the mean of two narrow distributions is as narrow as they are.
//
// Shares are chosen greedily. Every member starts with one vote, which keeps shares near equal where the evidence is weak; the
// other votes go, one at a time, to the member that lowers the CRPS of the ensemble most.

import type { FoldScores } from "../family.ts";
import { crpsOf, type HeldOutForecasts, type Origin, sampleCount } from "../held-out.ts";
import { ScoreSheet, scoreLevels } from "../scores.ts";

const votes = 10;
/** Factors tried on the distance from the median. Two good forecasts err less together than each alone. */
const widths = Array.from({ length: 13 }, (_, i) => 0.8 + 0.05 * i);

export interface Combination {
  /** One per member, adding up to 1. A single 1 means that no ensemble beats this member on its own. */
  readonly shares: readonly number[];
  /** Factor on the distance of every quantile from the median. */
  readonly width: number;
  readonly folds: FoldScores;
}

/** Null when the members have no origin in common. */
export function combine(members: readonly HeldOutForecasts[]): Combination | null {
  const aligned = alignForecasts(members);
  if (aligned === null) return null;
  const { samples, actual } = aligned;
  const alone = samples.map((own) => crpsOf({ samples: own, actual }));
  const best = alone.indexOf(Math.min(...alone));
  const counts = castVotes(samples, actual);
  const average = averageOf(samples, counts);
  const crpsByWidth = widths.map((width) => crpsOf({ samples: widened(average, width), actual }));
  const crps = Math.min(...crpsByWidth);
  if (!(crps < alone[best])) {
    const shares = samples.map((_, i) => (i === best ? 1 : 0));
    return { shares, width: 1, folds: scoresOf(samples[best], actual) };
  }
  const width = widths[crpsByWidth.indexOf(crps)];
  const shares = counts.map((count) => count / votes);
  return { shares, width, folds: scoresOf(widened(average, width), actual) };
}

interface AlignedForecasts {
  /** [member][point · sample] */
  readonly samples: readonly Float64Array[];
  readonly actual: Float64Array;
}

/** The points of the origins that all members have. */
function alignForecasts(members: readonly HeldOutForecasts[]): AlignedForecasts | null {
  const nameOf = ({ series, step }: Origin) => `${series}/${step}`;
  const indexByOrigin = members.map(({ origins }) => new Map(origins.map((one, i) => [nameOf(one), i])));
  const common = members[0].origins
    .map(nameOf)
    .filter((name) => indexByOrigin.every((indices) => indices.has(name)));
  const rangesOf = (m: number) =>
    common.map((name) => {
      const i = indexByOrigin[m].get(name) as number;
      return [members[m].starts[i], members[m].starts[i + 1]] as const;
    });
  const points = rangesOf(0).reduce((sum, [from, to]) => sum + to - from, 0);
  if (points === 0) return null;
  const gather = (values: Float64Array, perPoint: number, m: number) => {
    const gathered = new Float64Array(points * perPoint);
    let at = 0;
    for (const [from, to] of rangesOf(m)) {
      gathered.set(values.subarray(from * perPoint, to * perPoint), at);
      at += (to - from) * perPoint;
    }
    return gathered;
  };
  return {
    samples: members.map((member, m) => gather(member.samples, sampleCount, m)),
    actual: gather(members[0].actual, 1, 0),
  };
}

function castVotes(samples: readonly Float64Array[], actual: Float64Array): readonly number[] {
  let counts = samples.map(() => 1);
  for (let cast = samples.length; cast < votes; cast++) {
    const options = samples.map((_, i) => counts.map((count, j) => (j === i ? count + 1 : count)));
    const crps = options.map((option) => crpsOf({ samples: averageOf(samples, option), actual }));
    counts = options[crps.indexOf(Math.min(...crps))];
  }
  return counts;
}

function averageOf(samples: readonly Float64Array[], counts: readonly number[]): Float64Array {
  const total = counts.reduce((sum, count) => sum + count, 0);
  const average = new Float64Array(samples[0].length);
  for (const [m, own] of samples.entries()) {
    const share = counts[m] / total;
    for (let i = 0; i < average.length; i++) average[i] += share * own[i];
  }
  return average;
}

function widened(samples: Float64Array, width: number): Float64Array {
  const wide = new Float64Array(samples.length);
  for (let at = 0; at < samples.length; at += sampleCount) {
    const median = medianAt(samples, at);
    for (let k = at; k < at + sampleCount; k++) wide[k] = median + width * (samples[k] - median);
  }
  return wide;
}

function medianAt(samples: Float64Array, at: number): number {
  return (samples[at + sampleCount / 2 - 1] + samples[at + sampleCount / 2]) / 2;
}

/** At the levels that all families are scored at, so that their scores can be compared. */
function scoresOf(samples: Float64Array, actual: Float64Array): FoldScores {
  const sheet = new ScoreSheet(scoreLevels);
  const quantiles = new Float64Array(scoreLevels.length);
  for (let p = 0; p < actual.length; p++) {
    for (let l = 0; l < quantiles.length; l++) {
      const place = scoreLevels[l] * sampleCount - 0.5;
      const below = p * sampleCount + Math.floor(place);
      quantiles[l] = samples[below] + (place % 1) * (samples[below + 1] - samples[below]);
    }
    sheet.add(actual[p], quantiles);
  }
  return { mase: sheet.mase(1), crps: sheet.crps(1), points: sheet.steps };
}
