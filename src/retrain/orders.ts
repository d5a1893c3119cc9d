// What people ask for by hand, other than a training: a rollback, or a model from outside.

import { avroCodec } from "../log/codec/avro.ts";
import type { ModelOrderRecord, ModelRecord } from "../log/codec/schemas.generated.ts";
import type { Decision } from "./decision.ts";
import type { LaneDesk } from "./lane-desk.ts";
import { orWhyNot } from "./or-why-not.ts";
import { previousRecord } from "./probation.ts";
import { fromModelRecord } from "./requests/model-record.ts";
import type { TrainedModel } from "./training-task.ts";
import { type Court, verdictOn } from "./verdict-on.ts";

const recordCodec = avroCodec("ModelRecord");

export async function carryOut(order: ModelOrderRecord, court: Court): Promise<Decision> {
  const decision = await (order.kind === "IMPORT" ? takeIn(order, court) : rollBack(order, court.desk));
  return { ...decision, isByHand: true };
}

async function rollBack({ modelKey, kind }: ModelOrderRecord, desk: LaneDesk): Promise<Decision> {
  const serving = desk.parts.shelf.get(modelKey);
  const about = { modelKey, fromVersion: desk.parts.shelf.of(modelKey)?.facts.version ?? null, numbers: {} };
  if (kind !== "ROLL_BACK") {
    const reason = "the order is of a kind this release does not know";
    return { ...about, kind: "refused", toVersion: null, reason };
  }
  if (serving === undefined) {
    const reason = "there is nothing to roll back: no model of its own serves";
    return { ...about, kind: "refused", toVersion: null, reason };
  }
  const record = await orWhyNot(() => previousRecord(desk, modelKey));
  if (typeof record === "string") {
    const reason = `what served before cannot be read: ${record}`;
    return { ...about, kind: "refused", toVersion: null, reason };
  }
  const to = record === null ? "seasonal-naive serves again" : `${record.version} serves again`;
  return { ...about, kind: "rolled-back", record, reason: `asked for by hand: ${to}` };
}

async function takeIn(order: ModelOrderRecord, court: Court): Promise<Decision> {
  const { modelKey, skipsGate } = order;
  const { shelf } = court.desk.parts;
  const about = { modelKey, fromVersion: shelf.of(modelKey)?.facts.version ?? null, numbers: {} };
  const brought = await read(order);
  if (typeof brought === "string") return { ...about, kind: "refused", toVersion: null, reason: brought };
  const { trained, record } = brought;
  return verdictOn({ outcome: "trained", challengers: [trained] }, court, { record, skipsGate });
}

interface Brought {
  readonly trained: TrainedModel;
  readonly record: ModelRecord;
}

/** The model, or in words why it cannot be taken. */
async function read({ modelKey, record }: ModelOrderRecord): Promise<Brought | string> {
  if (record === null) return "the order brings no model";
  return orWhyNot(async () => {
    const decoded = recordCodec.decode(Buffer.from(record));
    if (decoded.modelKey === modelKey) return { trained: fromModelRecord(decoded), record: decoded };
    return `the record is of ${decoded.modelKey}; import it under that key`;
  });
}
