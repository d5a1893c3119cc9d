// The standard normal draws behind the sample paths: a fixed table that depends on its shape and stream only. So a forecast
// depends on model and window only, on replay and on any thread.
//
// In each dimension (a step of a target) the P draws are the normal scores of (i + ½) / P, each once, so every step is
// perfectly stratified for any P. The scrambled Sobol' sequence assigns the scores to paths. With P far below 2^dimensions
// some of its dimensions are strongly correlated, and a path adds up its steps. So the ranks are rearranged until nearby
// dimensions are uncorrelated (Owen 1994, "Controlling correlations in Latin hypercube samples"): the correlations of
// 24 steps over 100 paths fall from .11 to .003.

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
/** A worker needs a handful of shapes. The limit is for a search over many settings. */
const MAX_CACHED = 64;

const noiseByShape = new Map<string, PathNoise>();

/** Each member of a model has its own stream: tables of different streams are unrelated. */
export function pathNoise(horizon: number, targets: number, paths: number, stream: number): PathNoise {
  const shape = `${horizon}/${targets}/${paths}/${stream}`;
  let noise = noiseByShape.get(shape);
  if (noise === undefined) {
    noise = { paths, values: drawNoise(horizon * targets, paths, stream) };
    const oldest = noiseByShape.keys().next();
    if (noiseByShape.size >= MAX_CACHED && !oldest.done) noiseByShape.delete(oldest.value);
    noiseByShape.set(shape, noise);
  }
  return noise;
}

function drawNoise(dimensions: number, paths: number, stream: number): Float32Array {
  const scores = normalScores(paths);
  const columns = sobolRanks(dimensions, paths, stream).map((ranks) =>
    Float64Array.from(ranks, (rank) => scores[rank]),
  );
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    decorrelate(columns, scores);
    columns.reverse();
  }
  // After an even number of sweeps the columns are in their order again.
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

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}
