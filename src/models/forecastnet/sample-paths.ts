// The standard normal draws behind the sample paths: a fixed table that depends on its shape and stream only. So a forecast
// depends on model and window only, on replay and on any thread.
//
// In each dimension (a step of a target) the P draws start as the normal scores of (i + ½) / P, each once, which the scrambled
// Sobol' sequence assigns to paths. A path adds up its steps, each with less weight the longer ago it is, so what must be spread like
// a normal variable are those sums. With P far below 2^dimensions they are not: ranks are first rearranged until nearby
// dimensions are uncorrelated (Owen 1994, "Controlling correlations in Latin hypercube samples"). Then the draws of small tables are moved,
// sum by sum, towards the normal scores of their ranks (Paulin et al. 2020, "Sliced optimal transport sampling"). After that a dimension
// is no longer exactly stratified, and 48 paths forecast as well as 100 without it (docs/architecture.md).

import { normalQuantile } from "../normal.ts";
import { sobolRanks } from "./sobol.ts";

export interface PathNoise {
  readonly paths: number;
  /** [step][target][path] */
  readonly values: Float32Array;
}

/** Sweeps of rearrangement, forwards and backwards in turn. More change the correlations little. */
const SWEEPS = 4;
/** Most earlier dimensions that one is rearranged against; also never more than half the paths. */
const REACH = 48;
/** Larger tables are even enough, and would take long. */
const MOST_MOVED = 256;
/** How much a step counts in a sum, relative to the step after it. */
const DECAYS = [0, 0.4, 0.7, 0.85, 0.95, 1];
/** Passes over all sums. Long horizons get fewer, within `MOST_SUMS` sums in all, because a pass moves each of their draws more often. */
const PASSES = { most: 40, least: 4 };
const MOST_SUMS = 6_000;
/** A worker needs a handful of shapes. The limit is for a search over many settings. */
const MAX_CACHED = 256;

const noiseByShape = new Map<string, PathNoise>();

/** Each member of a model has its own stream: tables of different streams are unrelated. */
export function pathNoise(horizon: number, targets: number, paths: number, stream: number): PathNoise {
  const shape = `${horizon}/${targets}/${paths}/${stream}`;
  let noise = noiseByShape.get(shape);
  if (noise === undefined) {
    noise = { paths, values: drawNoise({ horizon, targets }, paths, stream) };
    const oldest = noiseByShape.keys().next();
    if (noiseByShape.size >= MAX_CACHED && !oldest.done) noiseByShape.delete(oldest.value);
    noiseByShape.set(shape, noise);
  }
  return noise;
}

interface Steps {
  readonly horizon: number;
  readonly targets: number;
}

function drawNoise(steps: Steps, paths: number, stream: number): Float32Array {
  const dimensions = steps.horizon * steps.targets;
  const scores = normalScores(paths);
  const columns = sobolRanks(dimensions, paths, stream).map((ranks) =>
    Float64Array.from(ranks, (rank) => scores[rank]),
  );
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    decorrelate(columns, scores);
    columns.reverse();
  }
  // After an even number of sweeps the columns are in their order again.
  if (paths > 2 && paths <= MOST_MOVED) {
    evenSums(columns, scores, steps);
    for (const column of columns) standardise(column);
  }
  const values = new Float32Array(dimensions * paths);
  for (const [d, column] of columns.entries()) values.set(column, d * paths);
  return values;
}

/** Ascending, with mean 0 and variance 1: unscaled, the scores of few paths have too little variance. */
function normalScores(paths: number): Float64Array {
  const scores = Float64Array.from({ length: paths }, (_, i) => normalQuantile((i + 0.5) / paths));
  const deviation = Math.sqrt(scores.reduce((sum, z) => sum + z * z, 0) / paths);
  return deviation === 0 ? scores : scores.map((z) => z / deviation);
}

/** One sweep: the scores of each column are reordered by what is left of it after regression on the columns before it. */
function decorrelate(columns: Float64Array[], scores: Float64Array): void {
  const paths = scores.length;
  const reach = Math.min(REACH, paths >> 1);
  const order = new Int32Array(paths);
  for (let d = 1; d < columns.length; d++) {
    const rest = Float64Array.from(columns[d]);
    for (let e = d - 1; e >= Math.max(0, d - reach); e--) {
      const slope = dot(rest, columns[e]) / paths;
      for (let i = 0; i < paths; i++) rest[i] -= slope * columns[e][i];
    }
    for (let i = 0; i < paths; i++) order[i] = i;
    order.sort((a, b) => rest[a] - rest[b] || a - b);
    for (let i = 0; i < paths; i++) columns[d][order[i]] = scores[i];
  }
}

/** Moves draws until the sums over the last steps of a target, at every step and for every decay, are spread like normal scores. */
function evenSums(columns: readonly Float64Array[], scores: Float64Array, { horizon, targets }: Steps): void {
  const passes = Math.max(
    PASSES.least,
    Math.min(PASSES.most, Math.floor(MOST_SUMS / (columns.length * DECAYS.length))),
  );
  for (let pass = 0; pass < passes; pass++) {
    // Large moves first, small ones at the end.
    const share = 0.02 + 0.15 * (1 - pass / passes);
    for (let h = 0; h < horizon; h++) {
      for (let k = 0; k < targets; k++) {
        const recent = (age: number) => columns[(h - age) * targets + k];
        for (const decay of DECAYS) moveSum(recent, weightsOf(decay, Math.min(h + 1, REACH)), scores, share);
      }
    }
  }
}

/** By age of the step; their squares sum to 1. */
function weightsOf(decay: number, count: number): Float64Array {
  const weights = new Float64Array(decay === 0 ? 1 : count);
  let weight = 1;
  let squares = 0;
  for (let age = 0; age < weights.length; age++, weight *= decay) {
    weights[age] = weight;
    squares += weight * weight;
  }
  const norm = Math.sqrt(squares);
  for (let age = 0; age < weights.length; age++) weights[age] /= norm;
  return weights;
}

/** Moves a weighted sum of columns by a share of the way to the scores of its ranks. */
function moveSum(
  columnAt: (age: number) => Float64Array,
  weights: Float64Array,
  scores: Float64Array,
  share: number,
): void {
  const sums = new Float64Array(scores.length);
  const order = new Int32Array(scores.length);
  for (let age = 0; age < weights.length; age++) {
    const column = columnAt(age);
    for (let p = 0; p < sums.length; p++) sums[p] += weights[age] * column[p];
  }
  for (let p = 0; p < order.length; p++) order[p] = p;
  order.sort((a, b) => sums[a] - sums[b] || a - b);
  // Draws that cannot satisfy all sums at once would settle with too little variance, by the square of this correlation.
  let product = 0;
  for (let rank = 0; rank < order.length; rank++) product += scores[rank] * sums[order[rank]];
  const correlation = product / Math.sqrt(dot(sums, sums) * sums.length);
  for (let rank = 0; rank < order.length; rank++) {
    const p = order[rank];
    sums[p] = share * (scores[rank] / correlation - sums[p]);
  }
  for (let age = 0; age < weights.length; age++) {
    const column = columnAt(age);
    for (let p = 0; p < sums.length; p++) column[p] += weights[age] * sums[p];
  }
}

/** To mean 0 and variance 1. */
function standardise(column: Float64Array): void {
  const mean = column.reduce((sum, z) => sum + z, 0) / column.length;
  for (let i = 0; i < column.length; i++) column[i] -= mean;
  const deviation = Math.sqrt(dot(column, column) / column.length);
  for (let i = 0; i < column.length; i++) column[i] /= deviation;
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}
