// Trains the model of a series: candidates of several lengths and frames, judged on two folds of the history, served
// together as one mixture with the shares that validate best. All is chosen on the history given, and nothing else.

import type { Engine } from "../engine/engine.ts";
import type { ForecastNetModel } from "../models/forecastnet/model.ts";
import { fitScaler } from "../models/forecastnet/scaler.ts";
import type { ForecastNetSpec } from "../models/forecastnet/spec.ts";
import { naiveErrorOf } from "../models/scores.ts";
import { candidatesFor, type Task } from "./candidates.ts";
import { chooseShares, distancesOf } from "./combine.ts";
import { foldsOf } from "./folds.ts";
import { chooseWidth, poolQuantiles, scorePooled } from "./pooled.ts";
import { type CandidateResult, type TrainedCandidate, trainCandidate } from "./train-candidate.ts";

export interface ModelRequest {
  readonly key: string;
  readonly version: string;
  readonly task: Task;
  /** Oldest first, channels of a step side by side, NaN where nothing was observed. */
  readonly history: Float64Array;
  readonly seed: number;
  /** Members at most; each costs memory and a part of the sample paths. */
  readonly members: number;
  readonly signal?: AbortSignal;
  readonly onCandidate?: (done: number, of: number) => void;
}

/** How good the model's twins were where they had not seen the data. */
export interface Validation {
  readonly mase: number;
  readonly crps: number;
  readonly coverage80: number;
  readonly points: number;
}

export type ModelResult =
  | { readonly outcome: "trained"; readonly model: ForecastNetModel; readonly validation: Validation }
  | { readonly outcome: "failed"; readonly reason: string }
  | { readonly outcome: "cancelled" };

export async function trainModel(engine: Engine, request: ModelRequest): Promise<ModelResult> {
  const { task, history } = request;
  const steps = history.length / task.channels;
  const specs = candidatesFor(task, steps);
  if (specs.length === 0)
    return failed(`${steps} steps of history are too few for a horizon of ${task.horizon}`);
  const longest = Math.max(...specs.map(({ inputLength }) => inputLength));
  const folds = foldsOf(history, task, longest);
  if (folds.some(({ origins }) => origins.length === 0)) {
    return failed(
      `the history has no ${longest + task.horizon} unbroken steps in each of its last two fifths`,
    );
  }
  const results = await trainAll(engine, request, specs, folds);
  if (results.includes("cancelled")) return { outcome: "cancelled" };
  const trained = results.filter(
    (result): result is TrainedCandidate => result !== "cancelled" && "spec" in result,
  );
  if (trained.length === 0) {
    const reasons = results.map((result) =>
      result !== "cancelled" && "failure" in result ? result.failure : "",
    );
    return failed(`no candidate could be trained: ${reasons[0]}`);
  }
  return assemble(request, trained);
}

function failed(reason: string): ModelResult {
  return { outcome: "failed", reason };
}

/** Two at a time: while one is prepared here, the other trains on the engine's threads. */
async function trainAll(
  engine: Engine,
  { history, seed, signal, onCandidate }: ModelRequest,
  specs: readonly ForecastNetSpec[],
  folds: ReturnType<typeof foldsOf>,
): Promise<CandidateResult[]> {
  const results = new Array<CandidateResult>(specs.length);
  let next = 0;
  let done = 0;
  const work = async () => {
    for (let i = next++; i < specs.length; i = next++) {
      if (signal?.aborted) results[i] = "cancelled";
      else
        results[i] = await trainCandidate(engine, specs[i], history, folds, {
          seed: seed + i,
          ...(signal && { signal }),
        });
      onCandidate?.(++done, specs.length);
    }
  };
  await Promise.all([work(), work()]);
  return results;
}

function assemble(
  { key, version, task, history, members: most }: ModelRequest,
  trained: readonly TrainedCandidate[],
): ModelResult {
  const steps = history.length / task.channels;
  const shares = chooseShares(distancesOf(trained.map(({ judged }) => judged)), most);
  const chosen = trained
    .map((candidate, i) => ({ ...candidate, share: shares[i] }))
    .filter(({ share }) => share > 0);
  const { actual } = chosen[0].judged;
  const quantiles = poolQuantiles(
    chosen.map(({ judged }) => judged),
    chosen.map(({ share }) => share),
  );
  const width = chooseWidth(quantiles, actual);
  const sheet = scorePooled(quantiles, actual, width);
  const naiveError = naiveErrorOf(history, 0, steps) ?? 1;
  const model: ForecastNetModel = {
    key,
    version,
    scaler: fitScaler(history, task.channels, 0, steps, "deviation"),
    members: chosen.map(({ spec, weights, share }) => ({ spec, weights, share, residuals: null })),
    spread: new Float32Array(task.targets.length * task.horizon).fill(width),
  };
  const validation = {
    mase: sheet.mase(naiveError),
    crps: sheet.crps(naiveError),
    coverage80: sheet.coverage80,
    points: sheet.steps,
  };
  return { outcome: "trained", model, validation };
}
