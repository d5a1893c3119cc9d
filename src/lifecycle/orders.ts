// Carries out orders by hand other than a training: a rollback, or the import of a model.

import { fromModelRecord, modelRecordCodec } from "../log/codec/model-record.ts";
import type { ModelOrderRecord, ModelRecord } from "../log/codec/schemas.generated.ts";
import type { TrainedModel } from "../models/family.ts";
import { valueOrReason } from "../runtime/errors.ts";
import type { Decision } from "./decision.ts";
import { type JudgingContext, judgeOutcome } from "./judge-outcome.ts";
import type { PartitionLifecycle } from "./partition-lifecycle.ts";
import { previousRecord } from "./probation.ts";

export async function carryOut(order: ModelOrderRecord, context: JudgingContext): Promise<Decision> {
  const decision = await (order.kind === "IMPORT"
    ? importModel(order, context)
    : rollBack(order, context.lifecycle));
  return { ...decision, isByHand: true };
}

async function rollBack(
  { modelKey, kind }: ModelOrderRecord,
  lifecycle: PartitionLifecycle,
): Promise<Decision> {
  const about = { modelKey, fromVersion: lifecycle.servingVersion(modelKey), numbers: {} };
  const refuse = (reason: string): Decision => ({ ...about, kind: "refused", toVersion: null, reason });
  if (kind === "FORGET") return refuse("a cohort cannot be forgotten, only its series");
  if (kind !== "ROLL_BACK") return refuse("this release does not know the kind of the order");
  if (lifecycle.view.models.get(modelKey) === undefined)
    return refuse("there is nothing to roll back: the series has no model of its own");
  const record = await valueOrReason(() => previousRecord(lifecycle, modelKey));
  if (typeof record === "string") return refuse(`the model that served before cannot be read: ${record}`);
  const to = record === null ? "the cold tier serves again" : `${record.version} serves again`;
  return { ...about, kind: "rolled-back", record, reason: `ordered by hand: ${to}` };
}

async function importModel(order: ModelOrderRecord, context: JudgingContext): Promise<Decision> {
  const { modelKey, skipsGate } = order;
  const imported = await readImport(order, context);
  if (typeof imported === "string") {
    const fromVersion = context.lifecycle.servingVersion(modelKey);
    return { modelKey, fromVersion, numbers: {}, kind: "refused", toVersion: null, reason: imported };
  }
  const { trained, record } = imported;
  return judgeOutcome({ outcome: "trained", challengers: [trained] }, context, { record, skipsGate });
}

interface ReadImport {
  readonly trained: TrainedModel;
  readonly record: ModelRecord;
}

/** The model, or as text why it cannot be imported. */
async function readImport(
  { modelKey, record }: ModelOrderRecord,
  { families }: JudgingContext,
): Promise<ReadImport | string> {
  if (record === null) return "the order holds no model";
  return valueOrReason(async () => {
    const decoded = modelRecordCodec.decode(Buffer.from(record));
    if (decoded.modelKey === modelKey)
      return { trained: fromModelRecord(decoded, families), record: decoded };
    return `the record is of ${decoded.modelKey}; import it under that key`;
  });
}
