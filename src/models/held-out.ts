// Forecasts of a family at the origins of the folds, by models that were not trained there, beside the actual values. Candidates
// are compared, and families combined, by them. A forecast is a few equally likely values ("samples"), the quantiles at the
// middles of equal slices: easy to pool, to weight and to score.
//
// Legend: X, X′ are drawn from the forecast, y is the actual value.
//   CRPS = E|X − y| − ½E|X − X′|, and for a mixture with weights w of forecasts i:
//   CRPS(w) = Σ w_i·a_i − ½ Σ w_i·w_j·B_ij with a_i = E|X_i − y|, B_ij = E|X_i − X_j|

/** Where a forecast starts. */
export interface Origin {
  /** Index of the series. */
  readonly series: number;
  /** The step of the first target. */
  readonly step: number;
}

/** Per forecast and step. */
export const sampleCount = 24;

export const sampleLevels: readonly number[] = Array.from(
  { length: sampleCount },
  (_, i) => (i + 0.5) / sampleCount,
);

/**
 * A point is one target and observed step after one origin: origin after origin, target after target, step after step. All in
 * units of the naive error, so that series and channels count alike. Families with the same origin have the same points there.
 */
export interface HeldOutForecasts {
  readonly origins: readonly Origin[];
  /** The first point of every origin, and the number of points. */
  readonly starts: Int32Array;
  /** [point][sample] */
  readonly samples: Float64Array;
  /** [point] */
  readonly actual: Float64Array;
}

/** CRPS as twice the mean pinball loss at the levels of the samples. */
export function crpsOf({ samples, actual }: Pick<HeldOutForecasts, "samples" | "actual">): number {
  let sum = 0;
  for (let p = 0; p < actual.length; p++) {
    for (let k = 0; k < sampleCount; k++) {
      const error = actual[p] - samples[p * sampleCount + k];
      sum += Math.max(sampleLevels[k] * error, (sampleLevels[k] - 1) * error);
    }
  }
  return (2 * sum) / (actual.length * sampleCount);
}

/** a: the mean distance of the samples to the actual value. */
export function distanceToActual({ samples, actual }: HeldOutForecasts): number {
  let sum = 0;
  for (let p = 0; p < actual.length; p++) {
    for (let k = 0; k < sampleCount; k++) sum += Math.abs(samples[p * sampleCount + k] - actual[p]);
  }
  return sum / samples.length;
}

/** B: the mean distance between two forecasts. Every second sample is enough, at a quarter of the work. */
export function distanceBetween(one: HeldOutForecasts, other: HeldOutForecasts): number {
  let sum = 0;
  const used = sampleCount / 2;
  for (let at = 0; at < one.samples.length; at += sampleCount) {
    for (let k = 0; k < sampleCount; k += 2) {
      // Even samples of one and odd samples of the other: no bias to either side.
      const x = one.samples[at + k];
      for (let j = 1; j < sampleCount; j += 2) sum += Math.abs(x - other.samples[at + j]);
    }
  }
  return sum / (one.actual.length * used * used);
}

/** All folds as one. */
export function joinHeldOut(parts: readonly HeldOutForecasts[]): HeldOutForecasts {
  const points = parts.reduce((sum, { actual }) => sum + actual.length, 0);
  const origins = parts.flatMap((part) => part.origins);
  const starts = new Int32Array(origins.length + 1);
  const samples = new Float64Array(points * sampleCount);
  const actual = new Float64Array(points);
  let origin = 0;
  let point = 0;
  for (const part of parts) {
    samples.set(part.samples, point * sampleCount);
    actual.set(part.actual, point);
    for (let i = 0; i < part.origins.length; i++) starts[origin++] = point + part.starts[i];
    point += part.actual.length;
  }
  starts[origin] = points;
  return { origins, starts, samples, actual };
}
