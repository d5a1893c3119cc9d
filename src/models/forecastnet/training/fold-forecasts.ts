// Forecasts of a net at the origins of a fold that it was not trained on, beside the actual values. Candidates are compared
// by them. A forecast is a few equally likely values ("samples"), the quantiles at the middles of equal slices: easy to pool,
// to weight and to score.
//
// Legend: X, X′ are drawn from the forecast, y is the actual value.
//   CRPS = E|X − y| − ½E|X − X′|, and for a mixture with weights w of forecasts i:
//   CRPS(w) = Σ w_i·a_i − ½ Σ w_i·w_j·B_ij with a_i = E|X_i − y|, B_ij = E|X_i − X_j|

import { type Fold, type MeasuredSeries, observedSteps } from "../../folds.ts";
import type { Engine } from "../engine.ts";
import type { ForecastNetModel } from "../model.ts";

/** Per forecast and step. */
export const sampleCount = 24;

export const sampleLevels: readonly number[] = Array.from(
  { length: sampleCount },
  (_, i) => (i + 0.5) / sampleCount,
);

/** Forecasts of one candidate, and the actual values. */
export interface FoldForecasts {
  /** [point][sample]; a point is one step and target after one origin. */
  readonly samples: Float64Array;
  /** [point] */
  readonly actual: Float64Array;
}

/** CRPS as twice the mean pinball loss at the levels of the samples. */
export function crpsOf({ samples, actual }: FoldForecasts): number {
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
export function distanceToActual({ samples, actual }: FoldForecasts): number {
  let sum = 0;
  for (let p = 0; p < actual.length; p++) {
    for (let k = 0; k < sampleCount; k++) sum += Math.abs(samples[p * sampleCount + k] - actual[p]);
  }
  return sum / samples.length;
}

/** B: the mean distance between two forecasts. Every second sample is enough, at a quarter of the work. */
export function distanceBetween(one: FoldForecasts, other: FoldForecasts): number {
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

/** Enough to rank candidates; served forecasts have more. */
const pathsJudged = 32;

/**
 * Each series and channel is in units of its naive error, so that all count alike. Null when a forecast of the net is not
 * finite.
 */
export async function forecastFold(
  engine: Engine,
  model: ForecastNetModel,
  series: readonly MeasuredSeries[],
  { origins }: Fold,
): Promise<FoldForecasts | null> {
  const { inputLength, horizon, channels, targets } = model.members[0].spec;
  const answers = await engine.forecast(
    origins.map(({ series: s, step }) => ({
      model,
      window: series[s].values.slice((step - inputLength) * channels, step * channels),
    })),
    { paths: pathsJudged, levels: sampleLevels },
  );
  engine.release(model);
  const steps = origins.map(({ series: s, step }) => observedSteps(series[s], step, horizon));
  const points = targets.length * steps.reduce((sum, { length }) => sum + length, 0);
  const forecasts = { samples: new Float64Array(points * sampleCount), actual: new Float64Array(points) };
  let point = 0;
  for (const [i, answer] of answers.entries()) {
    if (answer instanceof Error) return null;
    const { values, units } = series[origins[i].series];
    for (const [t, target] of targets.entries()) {
      for (const h of steps[i]) {
        forecasts.actual[point] = values[(origins[i].step + h) * channels + target] / units[target];
        for (let k = 0; k < sampleCount; k++) {
          forecasts.samples[point * sampleCount + k] = answer.quantiles[k][t * horizon + h] / units[target];
        }
        point++;
      }
    }
  }
  return forecasts;
}

/** All folds as one. */
export function joinForecasts(parts: readonly FoldForecasts[]): FoldForecasts {
  return {
    samples: concatenate(parts.map(({ samples }) => samples)),
    actual: concatenate(parts.map(({ actual }) => actual)),
  };
}

function concatenate(parts: readonly Float64Array[]): Float64Array {
  const whole = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
