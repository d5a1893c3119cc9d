// The models of one worker, as people see them and ask things of them.

import { avroCodec } from "../log/codec/avro.ts";
import { isCohortKey } from "../models/cohort.ts";
import type { Clock } from "../runtime/clock.ts";
import { isAtHome } from "./cohort-home.ts";
import type { LaneDesk } from "./lane-desk.ts";
import type { ModelDesk, ModelSummary, Order, OrderAnswer, OrderKind } from "./model-desk.ts";
import { servingFacts } from "./shelf.ts";

const recordCodec = avroCodec("ModelRecord");

const symbolByKind = {
  retrain: "RETRAIN",
  rollback: "ROLL_BACK",
  import: "IMPORT",
} as const satisfies Record<OrderKind, string>;

/** `desks` are those of the partitions that the worker owns at the moment. */
export function createModelDesk(desks: () => readonly LaneDesk[], clock: Clock): ModelDesk {
  const deskOf = (modelKey: string) =>
    desks().find(({ parts }) => isAtHome(modelKey, parts) && parts.book.get(modelKey) !== undefined) ??
    desks().find(({ parts }) => isAtHome(modelKey, parts) && parts.shelf.get(modelKey) !== undefined);
  return {
    list: () => desks().flatMap(summaries).sort(worstFirst),
    show: (modelKey) => {
      const desk = deskOf(modelKey);
      return desk === undefined ? null : summarize(desk, modelKey);
    },
    order: (order) => {
      const desk = deskOf(order.modelKey);
      return desk === undefined ? unknown(order.modelKey) : take(desk, order, clock.nowMs());
    },
    exportRecord: async (modelKey) => {
      const desk = deskOf(modelKey);
      const record = desk === undefined ? null : await desk.parts.readRecord(modelKey);
      return record === null ? null : recordCodec.encode(record);
    },
  };
}

function unknown(modelKey: string): OrderAnswer {
  const detail = `${modelKey} is not among the series of this worker: another one owns it, or it has never been seen`;
  return { outcome: "unknown-model", detail };
}

function take(desk: LaneDesk, { id, modelKey, kind, record, skipsGate }: Order, nowMs: number): OrderAnswer {
  if (desk.orders.has(modelKey)) {
    return { outcome: "refused", detail: `an earlier order about ${modelKey} waits to be carried out` };
  }
  desk.accept({ id, modelKey, kind: symbolByKind[kind], record, skipsGate, askedAt: nowMs });
  return { outcome: "accepted" };
}

function summaries(desk: LaneDesk): ModelSummary[] {
  return [...desk.parts.book.ids()].map((modelKey) => summarize(desk, modelKey));
}

function summarize({ parts }: LaneDesk, modelKey: string): ModelSummary {
  const live = parts.book.get(modelKey);
  const serving = parts.shelf.of(modelKey);
  const facts = serving === undefined ? null : servingFacts(serving);
  return {
    modelKey,
    kind: isCohortKey(modelKey) ? "cohort" : "series",
    partition: parts.partition,
    phase: live?.life.phase ?? "cold",
    sinceMs: live?.life.sinceMs ?? 0,
    version: facts?.version ?? null,
    servedBy: facts?.modelKey ?? null,
    scores: live?.scores() ?? null,
    validationMase: facts?.validationMase ?? null,
    trainedAtMs: facts?.trainedAtMs ?? null,
    isOnProbation: (live?.life.probation ?? null) !== null,
    verdict: live?.life.verdict ?? null,
  };
}

function worstFirst(one: ModelSummary, other: ModelSummary): number {
  return (other.scores?.mase ?? -1) - (one.scores?.mase ?? -1);
}
