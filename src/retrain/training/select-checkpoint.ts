// After how many steps a candidate is best, seen on all folds together, and what its twins forecast there.

import type { Engine } from "../../engine/engine.ts";
import type { ForecastNetModel, Scaler } from "../../models/forecastnet/model.ts";
import type { ForecastNetSpec } from "../../models/forecastnet/spec.ts";
import { crpsOf, type JudgedForecasts } from "./atoms.ts";
import { breathe } from "./breathe.ts";
import type { Fold } from "./folds.ts";
import { joinJudged, judge } from "./judge.ts";
import { heldOutErrors, noResiduals, residualTable } from "./residuals.ts";
import type { MeasuredSeries } from "./training-series.ts";

/** A net that was trained on the first part of a fold, and has not seen the rest. */
export interface Twin {
  readonly fold: Fold;
  readonly scaler: Scaler;
  /** The first weights, then those after each epoch. */
  readonly weights: readonly Float32Array[];
}

/** A candidate, trained on every fold. */
export interface JudgedCandidate {
  readonly spec: ForecastNetSpec;
  readonly series: readonly MeasuredSeries[];
  readonly twins: readonly Twin[];
}

export interface Checkpoint {
  /** In epochs; 0 is the start. */
  readonly epoch: number;
  /** Linear outputs only, as a member has them. */
  readonly residuals: Float32Array | null;
  readonly judged: JudgedForecasts;
}

/** Null when no checkpoint has finite forecasts on all folds, or the signal fired. */
export async function selectCheckpoint(
  engine: Engine,
  candidate: JudgedCandidate,
  { epochs, signal }: { readonly epochs: readonly number[]; readonly signal?: AbortSignal },
): Promise<Checkpoint | null> {
  const { spec, series, twins } = candidate;
  const point = noResiduals(spec);
  let best: { crps: number; epoch: number; parts: readonly JudgedForecasts[] } | null = null;
  for (const epoch of epochs) {
    if (signal?.aborted) return null;
    const parts = await judgeTwins(engine, candidate, (twin) => modelOf(spec, twin, epoch, point));
    if (parts === null) continue;
    const crps = parts.reduce((sum, part) => sum + crpsOf(part), 0);
    if (best === null || crps < best.crps) best = { crps, epoch, parts };
  }
  if (best === null) return null;
  const { epoch, parts } = best;
  if (point === null) return { epoch, residuals: null, judged: joinJudged(parts) };
  const errors: Float32Array[] = [];
  for (const twin of twins) {
    errors.push(await heldOutErrors(engine, modelOf(spec, twin, epoch, point), series, twin.fold));
  }
  const tableOf = (some: readonly Float32Array[]) => residualTable(some, point.length, spec.targets.length);
  const spread = await judgeTwins(engine, candidate, (twin, f) =>
    // A fold must not be judged by its own errors.
    modelOf(spec, twin, epoch, tableOf(errors.filter((_, other) => other !== f))),
  );
  return spread && { epoch, residuals: tableOf(errors), judged: joinJudged(spread) };
}

async function judgeTwins(
  engine: Engine,
  { series, twins }: JudgedCandidate,
  modelFor: (twin: Twin, f: number) => ForecastNetModel,
): Promise<readonly JudgedForecasts[] | null> {
  const parts: JudgedForecasts[] = [];
  for (const [f, twin] of twins.entries()) {
    const judged = await judge(engine, modelFor(twin, f), series, twin.fold);
    if (judged === null) return null;
    parts.push(judged);
    await breathe();
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
  return { key: "candidate", version: String(epoch), scaler, members, spread: null };
}
