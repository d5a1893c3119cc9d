// What a net that has not seen a fold forecasts there, beside what came: what candidates are compared by.

import type { Engine } from "../../engine/engine.ts";
import type { ForecastNetModel } from "../../models/forecastnet/model.ts";
import { atomCount, atomLevels, type JudgedForecasts } from "./atoms.ts";
import { type Fold, observedSteps } from "./folds.ts";
import type { MeasuredSeries } from "./training-series.ts";

/** Enough to rank candidates by; a served forecast has more. */
const pathsJudged = 32;

/**
 * Forecasts at the fold's origins and what came, each series and channel in units of its naive error, so that no loud
 * one drowns the others. Null when the net has no finite forecast at one of them.
 */
export async function judge(
  engine: Engine,
  model: ForecastNetModel,
  series: readonly MeasuredSeries[],
  { origins }: Fold,
): Promise<JudgedForecasts | null> {
  const { inputLength, horizon, channels, targets } = model.members[0].spec;
  const answers = await engine.forecast(
    origins.map(({ series: s, step }) => ({
      model,
      window: series[s].values.slice((step - inputLength) * channels, step * channels),
    })),
    { paths: pathsJudged, levels: atomLevels, keepPaths: false },
  );
  engine.release(model);
  const steps = origins.map(({ series: s, step }) => observedSteps(series[s], step, horizon));
  const points = targets.length * steps.reduce((sum, { length }) => sum + length, 0);
  const judged = { atoms: new Float64Array(points * atomCount), actual: new Float64Array(points) };
  let point = 0;
  for (const [i, answer] of answers.entries()) {
    if (answer instanceof Error) return null;
    const { values, units } = series[origins[i].series];
    for (const [t, target] of targets.entries()) {
      for (const h of steps[i]) {
        judged.actual[point] = values[(origins[i].step + h) * channels + target] / units[target];
        for (let k = 0; k < atomCount; k++) {
          judged.atoms[point * atomCount + k] = answer.quantiles[k][t * horizon + h] / units[target];
        }
        point++;
      }
    }
  }
  return judged;
}

/** All folds as one. */
export function joinJudged(parts: readonly JudgedForecasts[]): JudgedForecasts {
  return {
    atoms: concatenate(parts.map(({ atoms }) => atoms)),
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
