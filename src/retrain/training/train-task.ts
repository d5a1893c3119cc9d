// One training task from histories to challengers: a model of all the history that may be seen, and where the series is
// said to have changed, one of what followed the change. What cannot be trained says what there was and what is needed.

import type { Engine } from "../../engine/engine.ts";
import { parseSpec } from "../../models/forecastnet/parse-spec.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import type { TrainedModel, TrainingResult, TrainingTask } from "../training-task.ts";
import { assembleModel } from "./assemble-model.ts";
import { chooseTrial, leastSteps } from "./efforts.ts";
import { seedOf, versionOf } from "./model-name.ts";
import { partOf, problemOf, type TaskPart } from "./task-parts.ts";
import { trainCandidates } from "./train-model.ts";
import { measureSeries, stepsOf } from "./training-series.ts";

type PartResult =
  | { readonly outcome: "trained"; readonly challenger: TrainedModel }
  | { readonly outcome: "failed"; readonly reason: string }
  | { readonly outcome: "cancelled" };

/** Rejects with ENGINE_FAILED only, when the engine is broken. */
export async function trainTask(
  engine: Engine,
  task: TrainingTask,
  signal: AbortSignal,
): Promise<TrainingResult> {
  const problem = problemOf(task);
  if (problem !== null) return { outcome: "failed", reason: problem };
  const whole = await trainPart(engine, task, "whole", signal);
  if (whole.outcome === "cancelled") return whole;
  const recent = await trainPart(engine, task, "recent", signal);
  if (recent.outcome === "cancelled") return recent;
  const challengers = [whole, recent].flatMap((result) =>
    result.outcome === "trained" ? result.challenger : [],
  );
  if (challengers.length > 0) return { outcome: "trained", challengers };
  return { outcome: "failed", reason: whole.outcome === "failed" ? whole.reason : "nothing was trained" };
}

async function trainPart(
  engine: Engine,
  task: TrainingTask,
  basis: TrainedModel["basis"],
  signal: AbortSignal,
): Promise<PartResult> {
  const sinceMs = basis === "recent" ? changeWithin(task) : null;
  if (basis === "recent" && sinceMs === null) return failed("nothing is said to have changed");
  const part = partOf(task, sinceMs);
  if (part === null) return failed(nothingToLearn(task));
  try {
    return await trainOn(engine, task, { basis, part }, signal);
  } catch (error) {
    if (!(error instanceof ForecastnetError) || error.code === "ENGINE_FAILED") throw error;
    return failed(error.message);
  }
}

async function trainOn(
  engine: Engine,
  { id, modelKey, plan, histories: [{ channels }] }: TrainingTask,
  { basis, part }: { readonly basis: TrainedModel["basis"]; readonly part: TaskPart },
  signal: AbortSignal,
): Promise<PartResult> {
  const { horizon, season } = plan;
  const shape = { horizon, season, channels, targets: Array.from({ length: channels }, (_, c) => c) };
  const trial = chooseTrial(plan, shape, part.series);
  if (trial === null) {
    const longest = Math.max(...part.series.map((one) => stepsOf(one, channels)));
    const needed = `${leastSteps(plan, shape)} for a horizon of ${horizon} and a season of ${season}`;
    return failed(
      `the longest history has ${longest} steps before the ${plan.holdBack} held back; needed are ${needed}`,
    );
  }
  for (const spec of trial.specs) parseSpec(spec, "the net asked for");
  // One at a time: on a single thread a second would only make the first wait.
  const request = { ...trial, series: part.series, seed: seedOf(id), atOnce: 1, signal };
  const result = await trainCandidates(engine, request);
  if (result.outcome !== "trained") return result;
  const { members } = plan;
  const assembly = { key: modelKey, version: "unnamed", members };
  const { model, validation } = assembleModel(request, result.candidates, assembly);
  const { mase, crps, points } = validation;
  const challenger: TrainedModel = {
    model: { ...model, version: versionOf(model, id, basis, part.toMs) },
    basis,
    folds: { mase, crps, points },
    naiveErrors: naiveErrorsOf(part, channels),
    trainedFromMs: part.fromMs,
    trainedToMs: part.toMs,
  };
  return { outcome: "trained", challenger };
}

/** Null when no history reaches back before the change: the recent part would be the whole. */
function changeWithin({ histories, plan: { recentFromMs } }: TrainingTask): number | null {
  const isWithin = histories.some(({ firstTimeMs }) => recentFromMs !== null && firstTimeMs < recentFromMs);
  return isWithin ? recentFromMs : null;
}

/** Of a cohort: the mean over its members. */
function naiveErrorsOf({ series }: TaskPart, channels: number): readonly number[] {
  const units = series.map((one) => measureSeries(one, channels).units);
  return Array.from({ length: channels }, (_, c) => {
    return units.reduce((sum, own) => sum + own[c], 0) / units.length;
  });
}

function nothingToLearn({ histories, plan }: TrainingTask): string {
  const longest = Math.max(...histories.map(({ values, channels }) => values.length / channels));
  const [there, back] = [`the longest history has ${longest} steps`, `${plan.holdBack} of them held back`];
  return `${there}, ${back}; needed is one with values of every channel in the first three fifths of the others`;
}

function failed(reason: string): PartResult {
  return { outcome: "failed", reason };
}
