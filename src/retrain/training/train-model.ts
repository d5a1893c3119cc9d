// Trains the nets that a model may be made of: candidates of several lengths and frames, judged on two folds of the
// history. All is chosen on the history given, and nothing else.

import type { Engine } from "../../engine/engine.ts";
import type { ForecastNetSpec } from "../../models/forecastnet/spec.ts";
import { foldsOf } from "./folds.ts";
import {
  type CandidateControl,
  type CandidateResult,
  type Ground,
  longSchedule,
  type Schedule,
  type TrainedCandidate,
  trainCandidate,
} from "./train-candidate.ts";
import { measureSeries, stepsOf, type TrainingSeries } from "./training-series.ts";

export interface CandidatesRequest {
  /** Nets to try, all for one horizon, channels and targets; `candidatesFor` names those of a usual series. */
  readonly specs: readonly ForecastNetSpec[];
  /** One series, or the members of a cohort; those need specs whose frame makes them free of scale. */
  readonly series: readonly TrainingSeries[];
  readonly seed: number;
  readonly schedule?: Schedule;
  /** Candidates under way at a time: with two, one is prepared here while the other trains on the engine's threads. */
  readonly atOnce?: number;
  readonly signal?: AbortSignal;
  readonly onCandidate?: (done: number, of: number) => void;
}

export type CandidatesResult =
  | { readonly outcome: "trained"; readonly candidates: readonly TrainedCandidate[] }
  | { readonly outcome: "failed"; readonly reason: string }
  | { readonly outcome: "cancelled" };

/** Everything a model can be assembled from. */
export async function trainCandidates(engine: Engine, request: CandidatesRequest): Promise<CandidatesResult> {
  const { specs, series, schedule = longSchedule } = request;
  if (specs.length === 0) return failed("there is no candidate: the history is too short for any net");
  const { horizon, channels } = specs[0];
  const longest = Math.max(...specs.map(({ inputLength }) => inputLength));
  const folds = foldsOf(series, { horizon, channels, longest });
  if (folds.some(({ origins }) => origins.length === 0)) {
    const steps = Math.max(...series.map((one) => stepsOf(one, channels)));
    const whose = series.length === 1 ? "the history" : `any of ${series.length} histories`;
    const needed = `${longest} + ${horizon} unbroken steps`;
    return failed(`the last two fifths of ${whose}, ${steps} steps in all, do not each hold ${needed}`);
  }
  const measured = series.map((one) => measureSeries(one, channels));
  const results = await trainAll(engine, request, { series: measured, folds, schedule });
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

async function trainAll(
  engine: Engine,
  { specs, seed, signal, onCandidate, atOnce = 2 }: CandidatesRequest,
  ground: Ground,
): Promise<readonly CandidateResult[]> {
  const results = new Array<CandidateResult>(specs.length);
  let next = 0;
  let done = 0;
  const work = async () => {
    for (let i = next++; i < specs.length; i = next++) {
      const control: CandidateControl = { seed: seed + i, ...(signal && { signal }) };
      results[i] = signal?.aborted ? "cancelled" : await trainCandidate(engine, specs[i], ground, control);
      onCandidate?.(++done, specs.length);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return results;
}
