// How a history is split to judge candidates: twice, a net is trained on a first part and judged on what follows it.
// The origins at which it is judged are the same for all candidates.

import type { Engine } from "../engine/engine.ts";
import type { ForecastNetModel } from "../models/forecastnet/model.ts";
import { atomCount, atomLevels, type JudgedForecasts } from "./atoms.ts";

export interface Fold {
  /** The net is trained on steps before this. */
  readonly trainTo: number;
  /** Each the step of a first target; windows before and targets after it hold no gap. */
  readonly origins: readonly number[];
}

const splits = [
  [0.6, 0.8],
  [0.8, 1],
] as const;

const wantedOrigins = 60;
/** Enough to rank candidates by; a served forecast has more. */
const pathsJudged = 32;

export interface Reach {
  readonly horizon: number;
  readonly channels: number;
  /** Steps of the longest window of any candidate. */
  readonly longest: number;
}

export function foldsOf(history: Float64Array, { horizon, channels, longest }: Reach): Fold[] {
  const steps = history.length / channels;
  return splits.map(([from, to]) => {
    const trainTo = Math.floor(steps * from);
    const end = Math.floor(steps * to);
    const stride = Math.max(1, Math.floor(Math.min(horizon / 4, (end - trainTo - horizon) / wantedOrigins)));
    const origins: number[] = [];
    for (let origin = trainTo; origin + horizon <= end; origin += stride) {
      const seen = history.subarray(Math.max(0, origin - longest) * channels, (origin + horizon) * channels);
      if (origin >= longest && seen.every((value) => Number.isFinite(value))) origins.push(origin);
    }
    return { trainTo, origins };
  });
}

/** Forecasts at the fold's origins and what came, in raw units. */
export async function judge(
  engine: Engine,
  model: ForecastNetModel,
  history: Float64Array,
  { origins }: Fold,
): Promise<JudgedForecasts> {
  const { inputLength, horizon, channels, targets } = model.members[0].spec;
  const answers = await engine.forecast(
    origins.map((origin) => ({
      model,
      window: history.slice((origin - inputLength) * channels, origin * channels),
    })),
    { paths: pathsJudged, levels: atomLevels, keepPaths: false },
  );
  engine.release(model);
  const points = targets.length * horizon;
  const atoms = new Float64Array(origins.length * points * atomCount);
  const actual = new Float64Array(origins.length * points);
  for (const [i, answer] of answers.entries()) {
    if (answer instanceof Error) throw answer;
    for (let point = 0; point < points; point++) {
      const step = origins[i] + (point % horizon);
      actual[i * points + point] = history[step * channels + targets[Math.floor(point / horizon)]];
      for (let k = 0; k < atomCount; k++) {
        atoms[(i * points + point) * atomCount + k] = answer.quantiles[k][point];
      }
    }
  }
  return { atoms, actual };
}

/** Both folds as one. */
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
