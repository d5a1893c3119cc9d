// Square roots of a series that is never negative. The larger such a series, the more it usually varies: its roots vary more
// evenly, and models of them forecast better. A model of roots is handed the values of the series and answers in its units; the
// roots stay inside. Roots and squares keep the sign, so a value below zero does no harm.

import type { Scaler, TrainingSeries } from "./family.ts";

export function isNeverNegative({ values }: TrainingSeries): boolean {
  // NaN marks a gap.
  return !values.some((value) => value < 0);
}

/** The values in the units that the scaler applies to. */
export function rootsFor({ ofRoots = false }: Scaler, values: Float64Array): Float64Array {
  return ofRoots ? rootsOf(values) : values;
}

export function rootsOf(values: Float64Array): Float64Array {
  return values.map(rootOf);
}

export function rootOf(value: number): number {
  return Math.sign(value) * Math.sqrt(Math.abs(value));
}

export function squareOf(root: number): number {
  return root * Math.abs(root);
}

type Numbers = number[] | Float64Array;

interface MutableDistribution {
  readonly mean: Numbers;
  readonly standardDeviation: Numbers;
  readonly quantiles: readonly Numbers[];
}

/**
 * Turns a distribution of roots into that of the values. The square of a variable with mean μ and deviation σ has the mean μ² + σ²,
 * and if it is normal, the variance 4μ²σ² + 2σ⁴.
 */
export function squareDistribution({ mean, standardDeviation, quantiles }: MutableDistribution): void {
  for (let i = 0; i < mean.length; i++) {
    const μ = mean[i];
    const variance = standardDeviation[i] ** 2;
    mean[i] = squareOf(μ) + variance;
    standardDeviation[i] = Math.sqrt(variance * (4 * μ * μ + 2 * variance));
  }
  for (const values of quantiles) for (let i = 0; i < values.length; i++) values[i] = squareOf(values[i]);
}
