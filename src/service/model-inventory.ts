// The models of one worker, to be listed, inspected, exported and changed by order. The HTTP API is built on this.

import { setImmediate } from "node:timers/promises";
import type { LiveScores } from "../domain.ts";
import type { PartitionLifecycle } from "../lifecycle/partition-lifecycle.ts";
import { modelRecordCodec, servingFacts, toExportRecord } from "../log/codec/model-record.ts";
import { isCohortKey, isDecidedHere } from "../models/cohort.ts";
import type { Families } from "../models/families.ts";
import type { Phase } from "../models/life.ts";
import type { Clock } from "../runtime/clock.ts";
import { LargestFew } from "../runtime/largest-few.ts";

/** Facts about the model of a series or cohort. */
export interface ModelSummary {
  readonly modelKey: string;
  readonly kind: "series" | "cohort";
  readonly partition: number;
  readonly phase: Phase;
  readonly sinceMs: number;
  /** Null when no model serves. */
  readonly version: string | null;
  /** Key of the serving model: the own key, or that of the cohort; null for none. */
  readonly servedBy: string | null;
  readonly scores: LiveScores | null;
  readonly validationMase: number | null;
  readonly trainedAtMs: number | null;
  readonly isOnProbation: boolean;
  /** The last decision, for people. */
  readonly verdict: string | null;
}

type OrderKind = "retrain" | "rollback" | "import";

export interface Order {
  readonly id: string;
  readonly modelKey: string;
  readonly kind: OrderKind;
  /** Import only: an encoded ModelRecord. */
  readonly record: Buffer | null;
  /** Import only: true to serve without the gate. */
  readonly skipsGate: boolean;
}

/** "accepted": it is carried out soon; the outcome is on the events topic. */
export type OrderAnswer =
  | { readonly outcome: "accepted" }
  | { readonly outcome: "unknown-model"; readonly detail: string }
  | { readonly outcome: "refused"; readonly detail: string };

export interface ListQuery {
  /** Null for all. */
  readonly phase: Phase | null;
  /** Most models to return. */
  readonly most: number;
}

export interface ModelList {
  /** All that match, listed or not. */
  readonly total: number;
  readonly models: readonly ModelSummary[];
}

export interface ModelInventory {
  /** Those of this worker, worst rolling MASE first. */
  list(query: ListQuery): Promise<ModelList>;
  show(modelKey: string): ModelSummary | null;
  order(order: Order): OrderAnswer;
  /** The serving model as a record of the models topic; null when the key has no model of its own. */
  exportRecord(modelKey: string): Buffer | null;
}

const symbolByKind = {
  retrain: "RETRAIN",
  rollback: "ROLL_BACK",
  import: "IMPORT",
} as const satisfies Record<OrderKind, string>;

/** Series visited between two turns of the event loop. */
const seriesPerTurn = 5_000;

/** `lifecycles` returns those of the partitions that the worker owns now. */
export function createModelInventory(
  lifecycles: () => readonly PartitionLifecycle[],
  families: Families,
  clock: Clock,
): ModelInventory {
  const lifecycleOf = (modelKey: string) =>
    lifecycles().find(
      ({ view }) => isDecidedHere(modelKey, view) && view.scoreStore.get(modelKey) !== undefined,
    ) ??
    lifecycles().find(({ view }) => isDecidedHere(modelKey, view) && view.models.get(modelKey) !== undefined);
  return {
    list: (query) => listWorst(lifecycles(), query),
    show: (modelKey) => {
      const lifecycle = lifecycleOf(modelKey);
      return lifecycle === undefined ? null : summarize(lifecycle, modelKey);
    },
    order: (order) => {
      const lifecycle = lifecycleOf(order.modelKey);
      return lifecycle === undefined ? unknown(order.modelKey) : take(lifecycle, order, clock.nowMs());
    },
    exportRecord: (modelKey) => {
      const serving = lifecycleOf(modelKey)?.view.models.get(modelKey);
      return serving === undefined ? null : modelRecordCodec.encode(toExportRecord(serving, families));
    },
  };
}

function unknown(modelKey: string): OrderAnswer {
  const detail = `${modelKey} is not among the series of this worker: another worker owns it, or it has never sent`;
  return { outcome: "unknown-model", detail };
}

function take(
  lifecycle: PartitionLifecycle,
  { id, modelKey, kind, record, skipsGate }: Order,
  nowMs: number,
): OrderAnswer {
  if (lifecycle.orders.has(modelKey)) {
    return { outcome: "refused", detail: `an earlier order about ${modelKey} is still pending` };
  }
  lifecycle.accept({ id, modelKey, kind: symbolByKind[kind], record, skipsGate, askedAt: nowMs });
  return { outcome: "accepted" };
}

/** Builds summaries only of those that are listed: a worker may have a hundred thousand series. */
async function listWorst(
  lifecycles: readonly PartitionLifecycle[],
  { phase, most }: ListQuery,
): Promise<ModelList> {
  let looked = 0;
  const worst = new LargestFew<readonly [PartitionLifecycle, string]>(most);
  for (const lifecycle of lifecycles) {
    for (const live of lifecycle.view.scoreStore) {
      if (++looked % seriesPerTurn === 0) await setImmediate();
      if (phase === null || live.life.phase === phase)
        worst.offer([lifecycle, live.seriesId], live.mase ?? -1);
    }
  }
  return {
    total: worst.offered,
    models: worst.items().map(([lifecycle, modelKey]) => summarize(lifecycle, modelKey)),
  };
}

function summarize({ view }: PartitionLifecycle, modelKey: string): ModelSummary {
  const live = view.scoreStore.get(modelKey);
  const serving = view.models.of(modelKey);
  const facts = serving === undefined ? null : servingFacts(serving);
  return {
    modelKey,
    kind: isCohortKey(modelKey) ? "cohort" : "series",
    partition: view.partition,
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
