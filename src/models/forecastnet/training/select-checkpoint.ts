// Selects the number of training steps after which a candidate is best over all folds, and collects the forecasts of its twins
// there. A net with linear output has no σ: its errors at held-out origins, step by step and in the net's units, are its
// distribution.

import { yieldToEventLoop } from "../../../runtime/waiting.ts";
import type { Scaler, TrainingSeries } from "../../family.ts";
import { type Fold, isFilled, type MeasuredSeries } from "../../folds.ts";
import { crpsOf, type HeldOutForecasts, joinHeldOut } from "../../held-out.ts";
import { errorTable } from "../../score-on-folds.ts";
import type { Engine } from "../engine.ts";
import { frameWindow } from "../framing.ts";
import type { ForecastNetModel } from "../model.ts";
import type { ForecastNetSpec } from "../spec.ts";
import { forecastFold } from "./fold-forecasts.ts";

/** A copy of a candidate that was trained on the first part of a fold only. */
export interface Twin {
  readonly fold: Fold;
  readonly scaler: Scaler;
  /** The initial weights, then those after each epoch. */
  readonly weights: readonly Float32Array[];
}

/** A candidate with a twin for every fold. */
export interface CandidateTwins {
  readonly spec: ForecastNetSpec;
  readonly series: readonly MeasuredSeries[];
  readonly twins: readonly Twin[];
}

export interface Checkpoint {
  /** 0 is the start. */
  readonly epoch: number;
  /** As of a `Member`. */
  readonly residuals: Float32Array | null;
  readonly forecasts: HeldOutForecasts;
}

/** Null when no checkpoint has finite forecasts on all folds, or the signal fired. */
export async function selectCheckpoint(
  engine: Engine,
  candidate: CandidateTwins,
  { epochs, signal }: { readonly epochs: readonly number[]; readonly signal?: AbortSignal },
): Promise<Checkpoint | null> {
  const { spec, series, twins } = candidate;
  const point = noResiduals(spec);
  let best: { crps: number; epoch: number; parts: readonly HeldOutForecasts[] } | null = null;
  for (const epoch of epochs) {
    if (signal?.aborted) return null;
    const parts = await forecastFolds(engine, candidate, (twin) => modelOf(spec, twin, epoch, point));
    if (parts === null) continue;
    const crps = parts.reduce((sum, part) => sum + crpsOf(part), 0);
    if (best === null || crps < best.crps) best = { crps, epoch, parts };
  }
  if (best === null) return null;
  const { epoch, parts } = best;
  if (point === null) return { epoch, residuals: null, forecasts: joinHeldOut(parts) };
  const errors: Float32Array[] = [];
  for (const twin of twins) {
    errors.push(await heldOutErrors(engine, modelOf(spec, twin, epoch, point), series, twin.fold));
  }
  const tableOf = (some: readonly Float32Array[]) => errorTable(some, spec);
  const spread = await forecastFolds(engine, candidate, (twin, f) =>
    // A fold must not be scored with its own errors.
    modelOf(spec, twin, epoch, tableOf(errors.filter((_, other) => other !== f))),
  );
  return spread && { epoch, residuals: tableOf(errors), forecasts: joinHeldOut(spread) };
}

async function forecastFolds(
  engine: Engine,
  { series, twins }: CandidateTwins,
  modelFor: (twin: Twin, f: number) => ForecastNetModel,
): Promise<readonly HeldOutForecasts[] | null> {
  const parts: HeldOutForecasts[] = [];
  for (const [f, twin] of twins.entries()) {
    const forecasts = await forecastFold(engine, modelFor(twin, f), series, twin.fold);
    if (forecasts === null) return null;
    parts.push(forecasts);
    await yieldToEventLoop();
  }
  return parts;
}

function modelOf(
  spec: ForecastNetSpec,
  { scaler, weights }: Twin,
  epoch: number,
  residuals: Float32Array | null,
): ForecastNetModel {
  const members = [{ spec, weights: weights[epoch], share: 1, residuals }];
  return { family: "forecastnet", key: "candidate", version: String(epoch), scaler, members, spread: null };
}

/** Residuals of a bare point forecast: one error of zero per step. Null for outputs with a distribution of their own. */
export function noResiduals({ output, targets, horizon }: ForecastNetSpec): Float32Array | null {
  return output === "linear" ? new Float32Array(targets.length * horizon) : null;
}

/** Errors of a model of one linear net at the origins of the fold, [target][step][origin]; NaN where a value was filled. */
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
    { paths: 1, levels: [0.5] },
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
