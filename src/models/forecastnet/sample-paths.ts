// The standard normal draws that drive the sample paths: a fixed table, a function of its shape and stream alone, so
// that a forecast is a function of model and window, on replay and on any thread.
//
// In each dimension (a step of a target) the P draws are the normal scores of (i + ½) / P, each once, so every
// step is perfectly stratified for any P. Which path gets which score comes from the scrambled Sobol' sequence.
// With P far below 2^dimensions some of its dimensions are strongly correlated by accident, and a path adds its
// steps up; so the ranks are then rearranged until nearby dimensions are uncorrelated (Owen 1994, "Controlling
// correlations in Latin hypercube samples"): the correlations of 24 steps over 100 paths fall from .11 to .003.

import { normalQuantile } from "../normal.ts";
import { sobolRanks } from "./sobol.ts";

/** Standard normal draws that drive the sample paths, [step][target][path]. */
export interface PathNoise {
  readonly paths: number;
  readonly values: Float32Array;
}

/** Sweeps of rearrangement, forth and back in turn; more change the correlations little. */
const SWEEPS = 4;
/** A dimension is rearranged against at most this many before it, and never against more than half the paths. */
const REACH = 48;
/** A worker meets a handful of shapes; a search over settings meets many, one after the other. */
const MAX_CACHED = 64;

const noiseByShape = new Map<string, PathNoise>();

/** Different streams give unrelated tables of one shape: one for each member of a model. */
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
  // An even number of sweeps has turned the columns back to their order.
  const values = new Float32Array(dimensions * paths);
  for (const [d, column] of columns.entries()) values.set(column, d * paths);
  return values;
}

/** Ascending, with mean 0 and variance 1: the plain scores of few paths would make every path too tame. */
function normalScores(paths: number): Float64Array {
  const scores = Float64Array.from({ length: paths }, (_, i) => normalQuantile((i + 0.5) / paths));
  const deviation = Math.sqrt(scores.reduce((sum, z) => sum + z * z, 0) / paths);
  return deviation === 0 ? scores : scores.map((z) => z / deviation);
}

/** One sweep: each column gives up what those before it explain of it, and its scores are dealt out anew in that order. */
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
