// Quantiles of one Gaussian mixture, in units of its standard deviation around its mean, four
// components at a time. As in models/forecastnet/mixture.ts: Halley's method from a good start, bisection where
// that fails.
//
// Legend: F, f, f′ the distribution function, density and its slope. Levels above one half are solved mirrored
// (sign −1), so that F is always a lower tail and keeps its relative precision.

import { bellOf, cdfOf, splat, sumLanes } from "./vector-math";

const maxSteps = 60;
/** The resolution of single precision, in standard deviations of the mixture. */
const resolution: f32 = 1e-6;

let cdf: f32 = 0;
let pdf: f32 = 0;
let slope: f32 = 0;

/** One row's components, [mean], [1/deviation] and [weight], padded with components of weight 0 and 1/deviation 0. */
let means: usize = 0;
let inverses: usize = 0;
let weights: usize = 0;
let components: i32 = 0;
let smallStep: f32 = 0;

/**
 * F, f and f′ at y, mirrored when sign is −1. Eight components per iteration: V8 reloads every constant in every
 * iteration, which costs as much as the arithmetic of four components.
 */
function evaluate(y: f32, sign: f32): void {
  const bytes: usize = ((components + 7) >> 3) << 5;
  let sumF = splat(0);
  let sumDensity = splat(0);
  let sumSlope = splat(0);
  for (let at: usize = 0; at < bytes; at += 32) {
    const inverse0 = v128.load(inverses + at);
    const inverse1 = v128.load(inverses + at, 16);
    const mean0 = f32x4.mul(v128.load(means + at), splat(sign));
    const mean1 = f32x4.mul(v128.load(means + at, 16), splat(sign));
    const x0 = f32x4.mul(f32x4.sub(splat(y), mean0), inverse0);
    const x1 = f32x4.mul(f32x4.sub(splat(y), mean1), inverse1);
    const bell0 = bellOf(x0);
    const bell1 = bellOf(x1);
    const weight0 = v128.load(weights + at);
    const weight1 = v128.load(weights + at, 16);
    const lower0 = f32x4.mul(cdfOf(x0, bell0), weight0);
    const lower1 = f32x4.mul(cdfOf(x1, bell1), weight1);
    sumF = f32x4.add(sumF, f32x4.add(lower0, lower1));
    const density0 = f32x4.mul(f32x4.mul(bell0, inverse0), weight0);
    const density1 = f32x4.mul(f32x4.mul(bell1, inverse1), weight1);
    sumDensity = f32x4.add(sumDensity, f32x4.add(density0, density1));
    const slope0 = f32x4.mul(density0, f32x4.mul(x0, inverse0));
    const slope1 = f32x4.mul(density1, f32x4.mul(x1, inverse1));
    sumSlope = f32x4.sub(sumSlope, f32x4.add(slope0, slope1));
  }
  cdf = sumLanes(sumF);
  pdf = sumLanes(sumDensity);
  slope = sumLanes(sumSlope);
}

/** The least (side −1) or greatest (side 1) of the components' quantiles. The mixture's is between them. */
function outermost(z: f32, sign: f32, side: f32): f32 {
  let found: f32 = -Infinity;
  for (let i = 0; i < components; i++) {
    const at: usize = i << 2;
    const own = sign * load<f32>(means + at) + z / load<f32>(inverses + at);
    found = max(found, side * own);
  }
  return side * found;
}

function halley(error: f32): f32 {
  const newton = error / pdf;
  const correction: f32 = 1.0 - (newton * slope) / (2.0 * pdf);
  // Far from the solution the correction is meaningless; with these bounds it cannot reverse the step.
  return newton / min<f32>(2, max<f32>(0.5, correction));
}

function solve(level: f32, z: f32, sign: f32, start: f32): f32 {
  let low: f32 = -Infinity;
  let high: f32 = Infinity;
  let longest: f32 = Infinity;
  let q = start;
  for (let step = 0; step < maxSteps; step++) {
    evaluate(q, sign);
    const error = cdf - level;
    if (error < 0) low = q;
    else high = q;
    const change = halley(error);
    const next = q - change;
    // Steps that do not shrink have reached a gap between components.
    if (abs(change) < longest && next >= low && next <= high) {
      if (abs(change) <= smallStep) return next;
      longest = abs(change) * 0.5;
      q = next;
      continue;
    }
    low = max(low, outermost(z, sign, -1) - resolution);
    high = min(high, outermost(z, sign, 1) + resolution);
    q = low + (high - low) * 0.5;
    longest = (high - low) * 0.5;
    if (longest <= resolution) return q;
  }
  return q;
}

/**
 * `meansAt`, `inversesAt` and `weightsAt` have the row's `count` components, padded to a multiple of 8. `table` has four numbers
 * for each of `levels` levels: the lower of p and 1 − p, the normal score of p, the sign (−1 above one half), and the
 * start, which the quantile overwrites. `narrowest` is the smallest deviation.
 */
export function mixtureQuantiles(
  meansAt: usize,
  inversesAt: usize,
  weightsAt: usize,
  count: i32,
  narrowest: f32,
  table: usize,
  levels: i32,
): void {
  means = meansAt;
  inverses = inversesAt;
  weights = weightsAt;
  components = count;
  // The error after a step δ of Halley's method is about δ³ / narrowest².
  smallStep = max<f32>(resolution, 4e-3 * <f32>Math.cbrt(<f64>narrowest * <f64>narrowest));
  for (let level = 0; level < levels; level++) {
    const entry: usize = table + (level << 4);
    const sign = load<f32>(entry, 8);
    const y = solve(load<f32>(entry), sign * load<f32>(entry, 4), sign, sign * load<f32>(entry, 12));
    store<f32>(entry, sign * y, 12);
  }
}
