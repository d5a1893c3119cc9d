// Ends the probation of a promoted model: confirms it, or restores its predecessor. The comparison is with what the predecessor
// would have scored in the same time. Its earlier scores would blame the model when the series has become harder, and credit
// it when the series has become easier. The decision carries both live scores.

import { provesWorse } from "../gate/gate.ts";
import { modelRecordCodec, readModel } from "../log/codec/model-record.ts";
import type { ModelRecord } from "../log/codec/schemas.generated.ts";
import { cohortKey } from "../models/cohort.ts";
import type { Families } from "../models/families.ts";
import type { Model } from "../models/family.ts";
import { lineOf } from "../models/life.ts";
import { valueOrReason } from "../runtime/errors.ts";
import type { Decision } from "./decision.ts";
import type { PartitionLifecycle } from "./partition-lifecycle.ts";

/** Null while there are too few scores. */
export async function endProbation(
  lifecycle: PartitionLifecycle,
  seriesId: string,
  families: Families,
): Promise<Decision | null> {
  const { scoreStore, models, settingsOf, rulesOf, historyOf } = lifecycle.view;
  const live = scoreStore.get(seriesId);
  const probation = live?.life.probation ?? null;
  const serving = models.get(seriesId);
  if (live === undefined || probation === null || serving === undefined) return null;
  // Scores restart with the first forecast of another version.
  if (live.version !== lineOf(serving.facts.version)) return null;
  const rules = rulesOf(settingsOf(seriesId));
  const { mase } = live;
  if (live.scoredSlots < rules.probationSteps || mase === null) return null;
  const { predecessorMase, sinceMs } = probation;
  const about = { modelKey: seriesId, fromVersion: serving.facts.version };
  const lived = { liveMase: mase, ...(predecessorMase !== null && { livePredecessorMase: predecessorMase }) };
  const history = historyOf(seriesId);
  if (history === null) return null;
  const predecessor = await valueOrReason(() => readPredecessor(lifecycle, seriesId, families));
  if (typeof predecessor === "string") {
    const reason = `its predecessor cannot be read: ${predecessor}`;
    return { ...about, kind: "confirmed", reason, numbers: lived };
  }
  const { channels } = history;
  const judged = await provesWorse(families, {
    model: serving.model,
    predecessor: predecessor.model ?? families.baselineFor(seriesId, { ...rules, channels }),
    isPredecessorBaseline: predecessor.model === null,
    histories: [history],
    afterMs: sinceMs,
    rules: { ...rules, tailSteps: rules.probationSteps },
  });
  const { reason } = judged;
  const numbers = { ...lived, ...judged.numbers };
  if (!judged.isWorse) return { ...about, kind: "confirmed", reason, numbers };
  return { ...about, kind: "rolled-back", record: predecessor.record, reason, numbers };
}

interface Predecessor {
  /** Written by a rollback; null to delete the model. */
  readonly record: ModelRecord | null;
  /** Serves after a rollback; null for the baseline. */
  readonly model: Model | null;
}

async function readPredecessor(
  lifecycle: PartitionLifecycle,
  seriesId: string,
  families: Families,
): Promise<Predecessor> {
  const record = await previousRecord(lifecycle, seriesId);
  if (record !== null) return { record, model: readModel(record, families) };
  // After a rollback, a member of a cohort is served by the cohort's model.
  const { models, settingsOf } = lifecycle.view;
  const { cohort } = settingsOf(seriesId);
  return { record, model: cohort === "" ? null : (models.get(cohortKey(cohort))?.model ?? null) };
}

/** The record of the predecessor; null when there is none. */
export async function previousRecord(
  { view }: PartitionLifecycle,
  modelKey: string,
): Promise<ModelRecord | null> {
  const serving = view.models.get(modelKey);
  if (serving === undefined || serving.facts.previousVersion === null) return null;
  // In memory during probation only; the record on the topic always has it.
  const bytes = serving.previous ?? (await view.readRecord(modelKey))?.previous ?? null;
  return bytes === null ? null : modelRecordCodec.decode(Buffer.from(bytes));
}
