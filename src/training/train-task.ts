// Trains one task: from histories to challengers. The family of the plan trains one model on all the history that training may
// see. If the series is known to have changed, it trains a second one on the part after the change. A task that cannot be trained
// fails with what there was and what is needed.
//
// The same task gives the same models under the same versions, on any machine and however often it is repeated.

import { createHash } from "node:crypto";
import type { History } from "../domain.ts";
import { simplestOf } from "../models/ensemble/family.ts";
import { anyFamily, type Families } from "../models/families.ts";
import {
  type Model,
  type ModelFamily,
  type Storage,
  type TrainedModel,
  type TrainingSeries,
  unnamed,
} from "../models/family.ts";
import { firstPart, measureSeries } from "../models/folds.ts";
import { firstStepOf, slotTimesOf } from "../models/interval.ts";
import { refreshedVersion } from "../models/life.ts";
import { cpuSeconds } from "../runtime/clock.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import type { TrainingResult, TrainingTask } from "./training-task.ts";

type PartResult =
  | { readonly outcome: "trained"; readonly challenger: TrainedModel }
  | { readonly outcome: "failed"; readonly reason: string }
  | { readonly outcome: "cancelled" };

/** Rejects only with ENGINE_FAILED. */
export async function trainTask(
  families: Families,
  task: TrainingTask,
  signal: AbortSignal,
): Promise<TrainingResult> {
  const channels = [...new Set(task.histories.map((history) => history.channels))];
  if (channels.length > 1) {
    const found = channels.sort((one, other) => one - other).join(" and ");
    const reason = `the histories have ${found} channels; the series of a cohort must have the same number`;
    return { outcome: "failed", reason };
  }
  const startedAt = cpuSeconds();
  const challengers: TrainedModel[] = [];
  let reason = "";
  for (const basis of ["whole", "recent"] as const) {
    if (basis === "recent" && task.plan.refreshes !== undefined) continue; // It would be another model.
    const result = await trainPart(families, task, basis, signal);
    if (result.outcome === "cancelled") return result;
    if (result.outcome === "trained") challengers.push(result.challenger);
    else if (basis === "whole") reason = result.reason;
  }
  const cost = { cpuSeconds: cpuSeconds() - startedAt };
  if (challengers.length > 0) return { outcome: "trained", challengers, ...cost };
  return { outcome: "failed", reason, ...cost };
}

async function trainPart(
  families: Families,
  task: TrainingTask,
  basis: TrainedModel["basis"],
  signal: AbortSignal,
): Promise<PartResult> {
  const sinceMs = basis === "recent" ? changeWithin(task) : null;
  if (basis === "recent" && sinceMs === null) return failed("the series has not changed within its history");
  const part = partOf(task, sinceMs);
  if (part === null) return failed(nothingToLearn(task));
  try {
    return await trainOn(families, task, { basis, part }, signal);
  } catch (error) {
    if (!(error instanceof ForecastnetError) || error.code === "ENGINE_FAILED") throw error;
    return failed(error.message);
  }
}

async function trainOn(
  families: Families,
  { id, modelKey, plan, histories: [{ channels }], champion }: TrainingTask,
  { basis, part }: { readonly basis: TrainedModel["basis"]; readonly part: TaskPart },
  signal: AbortSignal,
): Promise<PartResult> {
  const request = {
    key: modelKey,
    plan,
    channels,
    series: part.series,
    seed: seedOf(id),
    ...(champion && { champion }),
  };
  // Releases before ensembles asked for several families at once by this name.
  const asked = plan.family === anyFamily ? "ensemble" : plan.family;
  const result = await families.named(asked, "the plan").train(request, signal);
  if (result.outcome === "cancelled") return result;
  if (result.outcome === "failed") {
    return failed(
      plan.holdBack === 0 ? result.reason : `${result.reason} (${plan.holdBack} steps held back)`,
    );
  }
  const { folds } = result;
  const model = simplestOf(result.model);
  const family = families.of(model);
  const named = versionOf(family, model, `${id}/${basis}`, part.toMs);
  const version = plan.refreshes === undefined ? named : refreshedVersion(plan.refreshes, named);
  // Read back from its bytes: the gate judges the numbers that are stored, and they are in memory that threads share.
  const { bytes, storage } = encodeSmall(family, { ...model, version });
  const challenger: TrainedModel = {
    model: family.decode(bytes, `model ${modelKey}@${version}`),
    storage,
    basis,
    folds,
    naiveErrors: naiveErrorsOf(part, channels),
    trainedFromMs: part.fromMs,
    trainedToMs: part.toMs,
  };
  return { outcome: "trained", challenger };
}

/**
 * In half precision, which takes half the space, unless a number is too large for it. docs/accuracy.md is measured with models
 * that are stored so.
 */
function encodeSmall(
  family: ModelFamily,
  model: Model,
): { readonly bytes: Uint8Array; readonly storage: Storage } {
  try {
    return { bytes: family.encode(model, "float16"), storage: "float16" };
  } catch (error) {
    if (!(error instanceof ForecastnetError) || error.code !== "MODEL_UNFIT") throw error;
    return { bytes: family.encode(model, "float32"), storage: "float32" };
  }
}

function seedOf(taskId: string): number {
  return createHash("sha256").update(taskId).digest().readUInt32LE();
}

/**
 * The newest time of the training part, so that versions sort by age, and a digest: 20240601T120000Z-1f2e3d4c. A model
 * without weights has a fixed version.
 */
function versionOf(family: ModelFamily, model: Model, name: string, trainedToMs: number): string {
  if (model.version !== unnamed) return model.version;
  const digest = createHash("sha256").update(name).update(family.encode(model, "float32")).digest("hex");
  const time = new Date(trainedToMs).toISOString().replace(/[-:]|\.\d{3}/g, "");
  return `${time}-${digest.slice(0, 8)}`;
}

/** Null when no history starts before the change: the recent part would be the whole. */
function changeWithin({ histories, plan: { recentFromMs } }: TrainingTask): number | null {
  const isWithin = histories.some(({ firstTimeMs }) => recentFromMs !== null && firstTimeMs < recentFromMs);
  return isWithin ? recentFromMs : null;
}

/** For a cohort, the mean over its members. */
function naiveErrorsOf({ series }: TaskPart, channels: number): readonly number[] {
  const units = series.map((one) => measureSeries(one, channels).units);
  return Array.from({ length: channels }, (_, c) => {
    return units.reduce((sum, own) => sum + own[c], 0) / units.length;
  });
}

/** The part of a task's histories that training may see. */
interface TaskPart {
  readonly series: readonly TrainingSeries[];
  /** Times of the oldest and newest slot. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** All steps before those held back, from `sinceMs` on if given. Members without usable history are left out. */
function partOf({ histories, plan }: TrainingTask, sinceMs: number | null): TaskPart | null {
  const cuts = histories.map((history) => cut(history, plan.holdBack, sinceMs)).filter((one) => one !== null);
  if (cuts.length === 0) return null;
  return {
    series: cuts.map(({ series }) => series),
    fromMs: Math.min(...cuts.map(({ fromMs }) => fromMs)),
    toMs: Math.max(...cuts.map(({ toMs }) => toMs)),
  };
}

interface Cut {
  readonly series: TrainingSeries;
  readonly fromMs: number;
  readonly toMs: number;
}

function cut(history: History, holdBack: number, sinceMs: number | null): Cut | null {
  const { channels, values, filled } = history;
  const to = values.length / channels - holdBack;
  const timeOf = slotTimesOf(history);
  let from = 0;
  while (sinceMs !== null && from < to && timeOf(from) < sinceMs) from++;
  if (to - from < 1) return null;
  const series = {
    values: values.subarray(from * channels, to * channels),
    filled: filled === null ? null : filled.subarray(from, to),
    firstStep: firstStepOf(history) + from,
  };
  return isUsable(series, channels) ? { series, fromMs: timeOf(from), toMs: timeOf(to - 1) } : null;
}

/** Each channel must have a value in the part that the first fold trains on, to be scaled by. */
function isUsable({ values }: TrainingSeries, channels: number): boolean {
  const end = channels * Math.floor((values.length / channels) * firstPart);
  return Array.from({ length: channels }, (_, c) => c).every((c) => {
    for (let i = c; i < end; i += channels) if (Number.isFinite(values[i])) return true;
    return false;
  });
}

function nothingToLearn({ histories, plan }: TrainingTask): string {
  const longest = Math.max(...histories.map(({ values, channels }) => values.length / channels));
  const found = `the longest history has ${longest} steps, ${plan.holdBack} of them held back`;
  return `${found}; needed is one with values of every channel in the first three fifths of the others`;
}

function failed(reason: string): PartResult {
  return { outcome: "failed", reason };
}
