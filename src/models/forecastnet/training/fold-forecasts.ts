// Forecasts of a net at the origins of a fold that it was not trained on, beside the actual values.

import { type Fold, type MeasuredSeries, observedSteps } from "../../folds.ts";
import { type HeldOutForecasts, sampleCount, sampleLevels } from "../../held-out.ts";
import type { Engine } from "../engine.ts";
import type { ForecastNetModel } from "../model.ts";

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
): Promise<HeldOutForecasts | null> {
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
  const forecasts: HeldOutForecasts = {
    origins,
    starts: new Int32Array(origins.length + 1),
    samples: new Float64Array(points * sampleCount),
    actual: new Float64Array(points),
  };
  let point = 0;
  for (const [i, answer] of answers.entries()) {
    if (answer instanceof Error) return null;
    forecasts.starts[i] = point;
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
  forecasts.starts[origins.length] = points;
  return forecasts;
}
