// Trains the candidates for a model: nets with a linear shortcut onward through the history, others as twins.

import { foldsOf, measureSeries, stepsOf } from "../../folds.ts";
import type { Engine } from "../engine.ts";
import type { CandidatesRequest, TrainedCandidate } from "./candidates-request.ts";
import { trainOnward } from "./train-onward.ts";
import { trainTwins } from "./train-twins.ts";
import { fitScalers } from "./training-rows.ts";

export type CandidatesResult =
  | { readonly outcome: "trained"; readonly candidates: readonly TrainedCandidate[] }
  | { readonly outcome: "failed"; readonly reason: string }
  | { readonly outcome: "cancelled" };

export async function trainCandidates(engine: Engine, request: CandidatesRequest): Promise<CandidatesResult> {
  const { specs, series } = request;
  if (specs.length === 0) return failed("there is no candidate: the history is too short for any net");
  const { horizon, channels } = specs[0];
  const longest = Math.max(...specs.map(({ inputLength }) => inputLength));
  const folds = foldsOf(series, { horizon, channels, longest });
  const ends = series.map((one) => stepsOf(one, channels));
  if (folds.some(({ origins }) => origins.length === 0)) {
    const whose = series.length === 1 ? "the history" : `any of ${series.length} histories`;
    const needed = `${longest} + ${horizon} unbroken steps`;
    return failed(
      `the last two fifths of ${whose}, ${Math.max(...ends)} steps in all, do not each hold ${needed}`,
    );
  }
  const measured = series.map((one) => measureSeries(one, channels));
  const data = { series: measured, folds, scalers: fitScalers(series, specs[0], ends) };
  const isOnward = specs.every(({ shortcut }) => shortcut === "linear");
  const results = await (isOnward ? trainOnward : trainTwins)(engine, request, data);
  if (results === "cancelled") return { outcome: "cancelled" };
  const candidates = results.filter((result) => "weights" in result);
  if (candidates.length > 0) return { outcome: "trained", candidates };
  const [first] = results.filter((result) => "failure" in result);
  return failed(`no candidate could be trained; the first one: ${first.failure}`);
}

function failed(reason: string): CandidatesResult {
  return { outcome: "failed", reason };
}
