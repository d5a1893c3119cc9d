// What a person can see and ask of the models of one worker: the contract between whoever holds the models and the
// pages that show them. Data only.

import type { LiveScores } from "../domain.ts";
import type { Phase } from "./life.ts";

/** One line about a series or a cohort. */
export interface ModelSummary {
  readonly modelKey: string;
  readonly kind: "series" | "cohort";
  readonly partition: number;
  readonly phase: Phase;
  readonly sinceMs: number;
  /** Null when no model serves. */
  readonly version: string | null;
  /** Whose model serves: the key's own, or its cohort's. */
  readonly servedBy: string | null;
  readonly scores: LiveScores | null;
  readonly validationMase: number | null;
  readonly trainedAtMs: number | null;
  readonly isOnProbation: boolean;
  /** The newest decision, in words. */
  readonly verdict: string | null;
}

export type OrderKind = "retrain" | "rollback" | "import";

export interface Order {
  readonly id: string;
  readonly modelKey: string;
  readonly kind: OrderKind;
  /** Import only: an encoded ModelRecord. */
  readonly record: Buffer | null;
  /** Import only: whether the model serves whatever the gate says. */
  readonly skipsGate: boolean;
}

/** "accepted": it will be done with the next batch of the series' partition or the next turn of the schedule. */
export type OrderAnswer =
  | { readonly outcome: "accepted" }
  | { readonly outcome: "unknown-model"; readonly detail: string }
  | { readonly outcome: "refused"; readonly detail: string };

export interface ModelDesk {
  /** Those of this worker's partitions, worst rolling MASE first. */
  list(): readonly ModelSummary[];
  show(modelKey: string): ModelSummary | null;
  order(order: Order): OrderAnswer;
  /** The record as it lies on the models topic; null when there is none. */
  exportRecord(modelKey: string): Promise<Buffer | null>;
}
