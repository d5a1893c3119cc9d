// What a point form gets wrong where it has not been trained: its distribution. A net without σ states no uncertainty of its
// own, so the errors it made on held-out origins stand around its forecast, step by step, in the net's units.

import type { Engine } from "../../engine/engine.ts";
import { frameWindow } from "../../models/forecastnet/framing.ts";
import type { ForecastNetModel } from "../../models/forecastnet/model.ts";
import type { ForecastNetSpec } from "../../models/forecastnet/spec.ts";
import type { Fold } from "./folds.ts";
import { isFilled, type TrainingSeries } from "./training-series.ts";

/** A table of one error of zero: the point itself. Null for outputs that have a distribution of their own. */
export function noResiduals({ output, targets, horizon }: ForecastNetSpec): Float32Array | null {
  return output === "linear" ? new Float32Array(targets.length * horizon) : null;
}

/** The errors of a model of one linear net at the fold's origins, [target][step][origin]; NaN where a value was filled. */
export async function heldOutErrors(
  engine: Engine,
  model: ForecastNetModel,
  series: readonly TrainingSeries[],
  { origins }: Fold,
): Promise<Float32Array> {
  const { spec } = model.members[0];
  const { inputLength, channels, targets, horizon } = spec;
  const windows = origins.map(({ series: s, step }) =>
    series[s].values.slice((step - inputLength) * channels, step * channels),
  );
  const answers = await engine.forecast(
    windows.map((window) => ({ model, window })),
    { paths: 1, levels: [0.5], keepPaths: false },
  );
  engine.release(model);
  const errors = new Float32Array(targets.length * horizon * origins.length);
  for (const [i, answer] of answers.entries()) {
    if (answer instanceof Error) throw answer;
    const own = series[origins[i].series];
    const { scale } = frameWindow(spec, model.scaler, windows[i]);
    for (const [t, target] of targets.entries()) {
      for (let h = 0; h < horizon; h++) {
        const row = t * horizon + h;
        const step = origins[i].step + h;
        const actual = isFilled(own, step) ? Number.NaN : own.values[step * channels + target];
        errors[row * origins.length + i] = (actual - answer.mean[row]) / scale[t];
      }
    }
  }
  return errors;
}

/** The tables of several folds as one, `targets` × steps rows, each step's errors ascending. */
export function residualTable(folds: readonly Float32Array[], rows: number, targets = 1): Float32Array {
  const perRow = folds.map(({ length }) => length / rows);
  const total = perRow.reduce((sum, count) => sum + count, 0);
  const table = new Float32Array(rows * total);
  const knownOf = (from: number, to: number) =>
    Float32Array.from(folds.flatMap((errors, f) => [...errors.subarray(from * perRow[f], to * perRow[f])]))
      .filter((error) => !Number.isNaN(error))
      .sort();
  const horizon = rows / targets;
  for (let row = 0; row < rows; row++) {
    const own = knownOf(row, row + 1);
    const first = row - (row % horizon);
    // A step that was filled at every origin has the errors of all steps.
    const known = own.length > 0 ? own : knownOf(first, first + horizon);
    for (let i = 0; i < total; i++)
      table[row * total + i] = known[Math.floor(((i + 0.5) * known.length) / total)];
  }
  return table;
}
