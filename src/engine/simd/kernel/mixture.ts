// Quantiles of one Gaussian mixture with equal weights, four components at a time, in units of its standard deviation
// around its mean. As in models/forecastnet/mixture.ts: Halley's method from a good start, bisection where it fails.
//
// Legend: F, f, f′ the distribution function, density and its slope. Levels above one half are solved in the
// mirror (sign −1), so that F is always a lower tail and its relative precision stays.

import { bellOf, cdfOf } from "./normal";
import { splat, sumLanes } from "./vector-math";

const maxSteps = 60;
/** What single precision can tell apart, in standard deviations of the mixture. */
const hair: f32 = 1e-6;

let cdf: f32 = 0;
let pdf: f32 = 0;
let slope: f32 = 0;

/** One row's components, [mean] and [1/deviation], filled up with components of 1/deviation 0. */
let means: usize = 0;
let inverses: usize = 0;
let components: i32 = 0;
let smallStep: f32 = 0;

/**
 * F, f and f′ at y, in the mirror when sign is −1. Eight components a turn: the engine makes every constant anew
 * in every turn, which costs as much as the arithmetic of four.
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
    sumF = f32x4.add(sumF, f32x4.add(cdfOf(x0, bell0), cdfOf(x1, bell1)));
    const density0 = f32x4.mul(bell0, inverse0);
    const density1 = f32x4.mul(bell1, inverse1);
    sumDensity = f32x4.add(sumDensity, f32x4.add(density0, density1));
    const slope0 = f32x4.mul(density0, f32x4.mul(x0, inverse0));
    const slope1 = f32x4.mul(density1, f32x4.mul(x1, inverse1));
    sumSlope = f32x4.sub(sumSlope, f32x4.add(slope0, slope1));
  }
  // A component of no weight counted one half.
  const padding: f32 = <f32>((((components + 7) >> 3) << 3) - components);
  const share: f32 = 1 / <f32>components;
  cdf = (sumLanes(sumF) - padding * 0.5) * share;
  pdf = sumLanes(sumDensity) * share;
  slope = sumLanes(sumSlope) * share;
}

/** The least (side −1) or greatest of the components' own quantiles: the mixture's lies between them. */
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
  const bend: f32 = 1.0 - (newton * slope) / (2.0 * pdf);
  // Far from the solution the bend means nothing; kept in bounds, it cannot turn the step round.
  return newton / min<f32>(2, max<f32>(0.5, bend));
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
    // Steps that do not shrink have met a gap between components.
    if (abs(change) < longest && next >= low && next <= high) {
      if (abs(change) <= smallStep) return next;
      longest = abs(change) * 0.5;
      q = next;
      continue;
    }
    low = max(low, outermost(z, sign, -1) - hair);
    high = min(high, outermost(z, sign, 1) + hair);
    q = low + (high - low) * 0.5;
    longest = (high - low) * 0.5;
    if (longest <= hair) return q;
  }
  return q;
}

/**
 * `meansAt` and `inversesAt`: the row's components, `count` of them, filled up to whole eights. For each of `levels` levels
 * four numbers at `table`: the lower of p and 1 − p, the normal score of p, the sign (−1 above one half), and the
 * start, which becomes the quantile. `narrowest` is the smallest deviation.
 */
export function mixtureQuantiles(
  meansAt: usize,
  inversesAt: usize,
  count: i32,
  narrowest: f32,
  table: usize,
  levels: i32,
): void {
  means = meansAt;
  inverses = inversesAt;
  components = count;
  // The error after a step δ of Halley's method is about δ³ / narrowest².
  smallStep = max<f32>(hair, 4e-3 * <f32>Math.cbrt(<f64>narrowest * <f64>narrowest));
  for (let level = 0; level < levels; level++) {
    const entry: usize = table + (level << 4);
    const sign = load<f32>(entry, 8);
    const y = solve(load<f32>(entry), sign * load<f32>(entry, 4), sign, sign * load<f32>(entry, 12));
    store<f32>(entry, sign * y, 12);
  }
}
