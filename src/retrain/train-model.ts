// Trains the model of a series: candidates of several lengths and frames, judged on two folds of the history, served
// together as one mixture with the shares that validate best. All is chosen on the history given, and nothing else.

import type { Engine } from "../engine/engine.ts";
import type { ForecastNetModel } from "../models/forecastnet/model.ts";
import { fitScaler } from "../models/forecastnet/scaler.ts";
import type { ForecastNetSpec } from "../models/forecastnet/spec.ts";
import { naiveErrorOf } from "../models/scores.ts";
import { chooseShares, distancesOf } from "./combine.ts";
import { type Fold, foldsOf } from "./folds.ts";
import { chooseWidth, poolQuantiles, scorePooled } from "./pooled.ts";
import { type CandidateResult, type TrainedCandidate, trainCandidate } from "./train-candidate.ts";

export interface CandidatesRequest {
  /** Nets to try, all for one horizon, channels and targets; `candidatesFor` names those of a usual series. */
  readonly specs: readonly ForecastNetSpec[];
  /** Oldest first, channels of a step side by side, NaN where nothing was observed. */
  readonly history: Float64Array;
  readonly seed: number;
  readonly signal?: AbortSignal;
  readonly onCandidate?: (done: number, of: number) => void;
}

export type CandidatesResult =
  | { readonly outcome: "trained"; readonly candidates: readonly TrainedCandidate[] }
  | { readonly outcome: "failed"; readonly reason: string }
  | { readonly outcome: "cancelled" };

/** Everything a model can be assembled from. */
export async function trainCandidates(engine: Engine, request: CandidatesRequest): Promise<CandidatesResult> {
  const { specs, history } = request;
  if (specs.length === 0) return failed("there is no candidate: the history is too short for any net");
  const { horizon, channels } = specs[0];
  const longest = Math.max(...specs.map(({ inputLength }) => inputLength));
  const folds = foldsOf(history, { horizon, channels, longest });
  if (folds.some(({ origins }) => origins.length === 0)) {
    const steps = history.length / channels;
    const needed = `${longest} + ${horizon} unbroken steps`;
    return failed(`the last two fifths of the history, ${steps} steps in all, do not each hold ${needed}`);
  }
  const results = await trainAll(engine, request, folds);
  if (results.includes("cancelled")) return { outcome: "cancelled" };
  const candidates = results.filter(isTrained);
  if (candidates.length > 0) return { outcome: "trained", candidates };
  const reasons = results.flatMap((result) =>
    result !== "cancelled" && "failure" in result ? result.failure : [],
  );
  return failed(`no candidate could be trained; the first one: ${reasons[0]}`);
}

function failed(reason: string): CandidatesResult {
  return { outcome: "failed", reason };
}

function isTrained(result: CandidateResult): result is TrainedCandidate {
  return result !== "cancelled" && "weights" in result;
}

/** Two at a time: while one is prepared here, the other trains on the engine's threads. */
async function trainAll(
  engine: Engine,
  { specs, history, seed, signal, onCandidate }: CandidatesRequest,
  folds: readonly Fold[],
): Promise<readonly CandidateResult[]> {
  const results = new Array<CandidateResult>(specs.length);
  let next = 0;
  let done = 0;
  const work = async () => {
    for (let i = next++; i < specs.length; i = next++) {
      const control = { seed: seed + i, ...(signal && { signal }) };
      results[i] = signal?.aborted
        ? "cancelled"
        : await trainCandidate(engine, specs[i], history, folds, control);
      onCandidate?.(++done, specs.length);
    }
  };
  await Promise.all([work(), work()]);
  return results;
}

export interface Assembly {
  readonly key: string;
  readonly version: string;
  /** Members at most; each costs memory and a part of the sample paths. */
  readonly members: number;
}

export interface ValidatedModel {
  readonly model: ForecastNetModel;
  /** How good the model's twins were where they had not seen the data. */
  readonly validation: {
    readonly mase: number;
    readonly crps: number;
    readonly coverage80: number;
    readonly points: number;
  };
}

/** The candidates that are best together, as one model. */
export function assembleModel(
  { specs: [{ channels, targets, horizon }], history }: CandidatesRequest,
  candidates: readonly TrainedCandidate[],
  { key, version, members: most }: Assembly,
): ValidatedModel {
  const steps = history.length / channels;
  const shares = chooseShares(distancesOf(candidates.map(({ judged }) => judged)), most);
  const chosen = candidates
    .map((candidate, i) => ({ ...candidate, share: shares[i] }))
    .filter(({ share }) => share > 0);
  const { actual } = chosen[0].judged;
  const quantiles = poolQuantiles(
    chosen.map(({ judged }) => judged),
    chosen.map(({ share }) => share),
  );
  const width = chooseWidth(quantiles, actual);
  const sheet = scorePooled(quantiles, actual, width);
  const naiveError = meanNaiveError(history, channels, targets);
  return {
    model: {
      key,
      version,
      scaler: fitScaler(history, channels, 0, steps, "deviation"),
      members: chosen.map(({ spec, weights, share, residuals }) => ({ spec, weights, share, residuals })),
      spread: new Float32Array(targets.length * horizon).fill(width),
    },
    validation: {
      mase: sheet.mase(naiveError),
      crps: sheet.crps(naiveError),
      coverage80: sheet.coverage80,
      points: sheet.steps,
    },
  };
}

/** Over the targets; a series that never moves is measured in its own units. */
function meanNaiveError(history: Float64Array, channels: number, targets: readonly number[]): number {
  const errors = targets.map((target) => {
    const own = history.filter((_, i) => i % channels === target);
    return naiveErrorOf(own, 0, own.length) ?? 1;
  });
  return errors.reduce((sum, error) => sum + error, 0) / errors.length;
}
