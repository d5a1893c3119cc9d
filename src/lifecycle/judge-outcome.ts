// Decides about the outcome of a training or an import. The gate judges the challengers on what happened after they were
// trained, against the serving model and the baseline.

import type { History } from "../domain.ts";
import { passGate } from "../gate/gate.ts";
import {
  modelRecordCodec,
  type ServingModel,
  toExportRecord,
  toModelRecord,
} from "../log/codec/model-record.ts";
import type { ModelRecord } from "../log/codec/schemas.generated.ts";
import type { Families } from "../models/families.ts";
import type { TrainedModel } from "../models/family.ts";
import { isSameLine } from "../models/life.ts";
import { meanOf, naiveErrorOf } from "../models/scores.ts";
import type { FinishedTraining } from "../training/outcome-codec.ts";
import type { Decision } from "./decision.ts";
import type { PartitionLifecycle } from "./partition-lifecycle.ts";
import { settingsFor } from "./partition-view.ts";
import { heldBackSteps } from "./rules.ts";
import { type GatherHistories, historiesOf } from "./training-backlog.ts";

export interface JudgingContext {
  readonly lifecycle: PartitionLifecycle;
  readonly modelKey: string;
  readonly families: Families;
  readonly gather: GatherHistories;
  readonly signal: AbortSignal;
  readonly nowMs: number;
}

/** A model that is imported by hand. */
interface Imported {
  readonly record: ModelRecord;
  /** True when it serves without the gate. */
  readonly skipsGate: boolean;
}

export async function judgeOutcome(
  result: FinishedTraining,
  context: JudgingContext,
  imported: Imported | null = null,
): Promise<Decision> {
  const { lifecycle, modelKey, families, gather, signal } = context;
  const { models, rulesOf } = lifecycle.view;
  const champion = models.of(modelKey);
  const about = { modelKey, fromVersion: champion?.facts.version ?? null };
  if (result.outcome === "failed") return { ...about, kind: "failed", reason: result.reason, numbers: {} };
  const promote = (
    trained: TrainedModel,
    reason: string,
    numbers: Readonly<Record<string, number>>,
  ): Decision => {
    const record = recordOf(trained, { context, champion, imported, numbers });
    const predecessorMase = maseIn(record, lifecycle);
    const isRefresh = isSameLine(record.version, about.fromVersion);
    return { ...about, kind: "promoted", record, predecessorMase, isRefresh, reason, numbers };
  };
  if (imported?.skipsGate) return promote(result.challengers[0], "ordered by hand, without the gate", {});
  const histories = await historiesOf(lifecycle, modelKey, gather, signal);
  const given = rulesOf(settingsFor(lifecycle.view, modelKey, histories));
  const channels = histories[0]?.channels ?? 1;
  const longest = Math.max(0, ...histories.map(({ values }) => values.length / channels));
  const isRefresh = result.challengers.every(({ model }) => isSameLine(model.version, about.fromVersion));
  // A refreshed model has nothing to prove but that newer data has not made it worse.
  const margin = isRefresh ? 0 : given.margin;
  const rules = { ...given, margin, tailSteps: heldBackSteps(given, longest) };
  const verdict = await passGate(families, {
    challengers: result.challengers,
    champion:
      champion === undefined ? null : { model: champion.model, trainedToMs: champion.facts.trainedTo },
    baseline: families.baselineFor(modelKey, { ...rules, channels }),
    histories,
    countsFolds: imported === null,
    rules,
  });
  const { reason, numbers } = verdict;
  if (verdict.outcome === "promoted") return promote(verdict.challenger, reason, numbers);
  // A member of a cohort cannot retire the cohort's model. Models are refreshed so often that one tail in which seasonal-naive
  // happens to be best is no reason to retire them: drift finds those that are bad.
  if (verdict.retire && !isRefresh && models.get(modelKey) !== undefined)
    return { ...about, kind: "retired", reason, numbers };
  const toVersion = verdict.challenger?.model.version ?? null;
  return { ...about, kind: "refused", toVersion, reason, numbers };
}

/** Live MASE of the predecessor, in units of the naive errors of the new model. */
function maseIn({ modelKey, validation }: ModelRecord, { view }: PartitionLifecycle): number | null {
  const live = view.scoreStore.get(modelKey);
  const mase = live?.mase ?? null;
  const units = live?.naiveErrors ?? null;
  return mase === null || units === null ? null : (mase * meanOf(units)) / meanOf(validation.naiveErrors);
}

interface Promotion {
  readonly context: JudgingContext;
  readonly champion: ServingModel | undefined;
  readonly imported: Imported | null;
  readonly numbers: Readonly<Record<string, number>>;
}

function recordOf(trained: TrainedModel, { context, champion, imported, numbers }: Promotion): ModelRecord {
  const { lifecycle, modelKey, families, nowMs } = context;
  const { scoreStore, historyOf } = lifecycle.view;
  const requestId = scoreStore.get(modelKey)?.life.requestId ?? null;
  const record = imported?.record ?? toModelRecord(trained, { requestId, trainedAtMs: nowMs }, families);
  const validation = imported === null ? record.validation : inUnitsOf(historyOf(modelKey), record);
  const { naiveMase = 0, naiveCrps = 0 } = numbers;
  // A cohort's model is no predecessor of a member's own: a rollback deletes the own one instead.
  const own = champion?.facts.modelKey === modelKey ? champion : undefined;
  return {
    ...record,
    validation: { ...validation, baselineMase: naiveMase, baselineCrps: naiveCrps },
    previousVersion: own?.facts.version ?? null,
    previous: own === undefined ? null : encodePredecessor(own, families),
  };
}

/** An imported model may come from another series. Its errors are in units of the series that it serves. */
function inUnitsOf(history: History | null, { validation }: ModelRecord): ModelRecord["validation"] {
  if (history === null || history.channels !== validation.naiveErrors.length) return validation;
  const { values, channels } = history;
  const naiveErrors = Array.from({ length: channels }, (_, channel) => {
    const own = values.filter((_, i) => i % channels === channel);
    return naiveErrorOf(own, 0, own.length) ?? 1;
  });
  const crps = (validation.crps * meanOf(naiveErrors)) / meanOf(validation.naiveErrors);
  return { ...validation, naiveErrors, crps };
}

/** As a rollback restores it: with its previous version, without the bytes of its own predecessor. */
function encodePredecessor(serving: ServingModel, families: Families): Buffer {
  const { previousVersion } = serving.facts;
  return modelRecordCodec.encode({ ...toExportRecord(serving, families), previousVersion });
}
