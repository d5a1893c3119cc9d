// Mean, standard deviation and quantiles of Gaussian mixtures: the distribution of one step of one target over the sample paths. Quantiles are those of the mixture itself, not of samples drawn from it.
//
// Legend: F and f are the distribution function and density of a mixture, p a level, S the standard deviation, v the weight of a
// component.
// A quantile solves F(q) = p by Halley's method, which needs the sums for F, f and f′ at one point and triples the digits at
// each step. It starts where the same level was at the step before, in units of S. A step that leaves the bracket found so
// far is replaced by bisection, so the search ends for every mixture.

import { normalQuantile } from "../normal.ts";
import { cdfTable, MIDDLE, PER_UNIT, pdfTable, REACH } from "./normal-table.ts";

/** Mixtures with the same number of components, [row][component]. The arrays may be longer than needed. */
export interface Mixtures {
  readonly rows: number;
  readonly components: number;
  readonly mean: Float64Array;
  readonly deviation: Float64Array;
  /** The same in every row, [component]. All above 0; they sum to 1. */
  readonly weight: Float64Array;
}

/** One number per row. */
export interface MixtureSummary {
  readonly mean: Float64Array;
  readonly standardDeviation: Float64Array;
  /** One array per level. */
  readonly quantiles: readonly Float64Array[];
}

/** Fills `into`. Levels ascend, between 0 and 1. An engine may have a faster implementation. */
export type Summarise = (mixtures: Mixtures, levels: readonly number[], into: MixtureSummary) => void;

/** Least width of a component, as a share of S: too small to show in a quantile, large enough to divide by. */
const NARROWEST = 1e-10;
/** Bisection alone needs about forty steps from the widest bracket to the last digit. */
const MAX_STEPS = 100;

/** The row in work. Reused between calls, so that a forecast allocates nothing. */
class Row {
  /** The components; those of the row start at `at`. */
  mean: Float64Array = new Float64Array(0);
  deviation: Float64Array = new Float64Array(0);
  inverse = new Float64Array(0);
  weight: Float64Array = new Float64Array(0);
  components = 0;
  at = 0;
  /** A step of Halley's method this small leaves an error of about 1e-10 S. */
  smallStep = 0;
  /** Numbers of the row that differ by less than this are equal. */
  hair = 0;
  /** F, f, f′ at the point evaluated last. */
  readonly sums = new Float64Array(3);

  begin({ mean, deviation, weight, components }: Mixtures, row: number, spread: number): void {
    if (this.inverse.length < components) this.inverse = new Float64Array(components);
    this.mean = mean;
    this.deviation = deviation;
    this.weight = weight;
    this.components = components;
    this.at = row * components;
    this.hair = NARROWEST * spread;
    let narrowest = Number.POSITIVE_INFINITY;
    for (let i = 0; i < components; i++) {
      const width = Math.max(deviation[this.at + i], this.hair);
      if (width < narrowest) narrowest = width;
      this.inverse[i] = 1 / width;
    }
    // The error after a step δ is about δ³ / (width of the narrowest feature)².
    this.smallStep = 5e-4 * Math.cbrt(spread * narrowest * narrowest);
  }

  evaluate(q: number): void {
    const { mean, inverse, weight, components, at, sums } = this;
    let cdf = 0;
    let pdf = 0;
    let slope = 0;
    for (let i = 0; i < components; i++) {
      const w = inverse[i];
      const x = (q - mean[at + i]) * w;
      if (x >= REACH) cdf += weight[i];
      else if (x > -REACH) {
        const k = (x * PER_UNIT + (MIDDLE + 0.5)) | 0;
        const x0 = (k - MIDDLE) * (1 / PER_UNIT);
        const d = x - x0;
        const curvature = x0 * x0 - 1;
        const density = pdfTable[k];
        const share = weight[i];
        cdf += share * (cdfTable[k] + density * d * (1 + d * (d * curvature * (1 / 6) - x0 * 0.5)));
        const scaled = share * density * (1 + d * (d * curvature * 0.5 - x0)) * w;
        pdf += scaled;
        slope -= scaled * x * w;
      }
    }
    sums[0] = cdf;
    sums[1] = pdf;
    sums[2] = slope;
  }

  /** The least or greatest quantile of a single component: that of the mixture is between them. */
  outermost(z: number, side: 1 | -1): number {
    let found = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < this.components; i++) {
      found = Math.max(found, side * (this.mean[this.at + i] + z * this.deviation[this.at + i]));
    }
    return side * found;
  }

  solve(level: number, z: number, start: number): number {
    let low = Number.NEGATIVE_INFINITY;
    let high = Number.POSITIVE_INFINITY;
    let q = start;
    let longest = Number.POSITIVE_INFINITY;
    for (let step = 0; step < MAX_STEPS; step++) {
      this.evaluate(q);
      const error = this.sums[0] - level;
      if (error < 0) low = q;
      else high = q;
      const change = this.#halley(error);
      const next = q - change;
      // Steps that do not shrink have reached a gap between components.
      if (Math.abs(change) < longest && next >= low && next <= high) {
        if (Math.abs(change) <= this.smallStep) return next;
        longest = Math.abs(change) / 2;
        q = next;
        continue;
      }
      low = Math.max(low, this.outermost(z, -1) - this.hair);
      high = Math.min(high, this.outermost(z, 1) + this.hair);
      q = low + (high - low) / 2;
      longest = (high - low) / 2;
      if (longest <= this.hair) return q;
    }
    return q;
  }

  #halley(error: number): number {
    const newton = error / this.sums[1];
    const bend = 1 - (newton * this.sums[2]) / (2 * this.sums[1]);
    // Far from the solution the curvature says nothing. Bounded, it cannot reverse the step.
    return newton / Math.min(2, Math.max(0.5, bend));
  }
}

const scratch = new Row();

export const summariseMixtures: Summarise = (mixtures, levels, into) => {
  const scores = levels.map(normalQuantile);
  /** For each level, its quantile in the row before, in standard deviations from the mean. */
  const shape = [...scores];
  for (let row = 0; row < mixtures.rows; row++) {
    const isSame = summariseMoments(mixtures, row, into);
    const centre = into.mean[row];
    const spread = into.standardDeviation[row];
    // All components are equal, as at the first step; or the numbers are not finite.
    const isPlain = isSame || !(spread > 0 && spread < Number.POSITIVE_INFINITY);
    if (!isPlain) scratch.begin(mixtures, row, spread);
    let before = Number.NEGATIVE_INFINITY;
    for (let l = 0; l < levels.length; l++) {
      const exact = centre + scores[l] * spread;
      const q = isPlain ? exact : scratch.solve(levels[l], scores[l], centre + shape[l] * spread);
      before = Math.max(before, q);
      into.quantiles[l][row] = before;
      shape[l] = isPlain ? scores[l] : (before - centre) / spread;
    }
  }
};

/** Fills mean and deviation of a row. True when all its components are equal. */
export function summariseMoments(
  { mean, deviation, weight, components }: Mixtures,
  row: number,
  into: MixtureSummary,
): boolean {
  const at = row * components;
  const [firstMean, firstDeviation] = [mean[at], deviation[at]];
  let isSame = true;
  let shift = 0;
  // Sums distances to the first mean: a small spread around a large level would be lost in rounding.
  let squares = 0;
  for (let i = 0; i < components; i++) {
    const distance = mean[at + i] - firstMean;
    const width = deviation[at + i];
    isSame &&= distance === 0 && width === firstDeviation;
    shift += weight[i] * distance;
    squares += weight[i] * (distance * distance + width * width);
  }
  into.mean[row] = firstMean + shift;
  const variance = isSame ? firstDeviation * firstDeviation : squares - shift * shift;
  into.standardDeviation[row] = Math.sqrt(Math.max(0, variance));
  return isSame;
}
