// Bounds of a series, and forecasts held within them: mean and quantiles, of every family and of the cold tier. The
// score stage bounds quantiles once more as it calibrates them. A value beyond a bound moves onto it, so quantiles keep their order.

import type { Bounds } from "../domain.ts";
import type { ForecastAnswer } from "./family.ts";

/** A `Distribution` in arrays of one kind. */
interface DistributionOf<A> {
  readonly mean: A;
  readonly standardDeviation: A;
  readonly quantiles: readonly A[];
}

/** The standard deviation stays as it is: that of the distribution without bounds. */
export function boundDistribution<A extends ArrayLike<number>>(
  distribution: DistributionOf<A>,
  bounds: Bounds | undefined,
): DistributionOf<A | readonly number[]> {
  if (bounds === undefined) return distribution;
  const { mean, standardDeviation, quantiles } = distribution;
  return {
    mean: clamp(mean, bounds),
    standardDeviation,
    quantiles: quantiles.map((values) => clamp(values, bounds)),
  };
}

export function boundAnswer(answer: ForecastAnswer, bounds: Bounds | undefined): ForecastAnswer {
  return answer instanceof Error ? answer : boundDistribution(answer, bounds);
}

/** The same array when nothing is beyond the bounds. What is not finite stays: it shows that a model is unfit. */
function clamp<A extends ArrayLike<number>>(values: A, { min, max }: Bounds): A | readonly number[] {
  let i = 0;
  while (i < values.length && !(values[i] < min || values[i] > max)) i++;
  if (i === values.length) return values;
  return Array.from(values, (value) =>
    Number.isFinite(value) ? Math.min(max, Math.max(min, value)) : value,
  );
}
