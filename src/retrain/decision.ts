// What can be decided about a model, with the numbers that decided it. Decisions are made between batches and take
// effect at the beginning of one, so that they are committed with it: by the owner of the series, once.

import type { ModelRecord } from "../log/codec/schemas.generated.ts";
import type { TrainingTask } from "./training-task.ts";

interface Decided {
  /** A series id, or the name of a cohort. */
  readonly modelKey: string;
  /** The version that served when it was decided; a decision about another one comes too late. Null: cold. */
  readonly fromVersion: string | null;
  /** Why, in words for a person. */
  readonly reason: string;
  readonly numbers: Readonly<Record<string, number>>;
  /** What lay beside the model on its topic, waited for this decision, and goes with it. */
  readonly settles?: readonly Waiting[];
  /** Asked for by a person: when it is refused, nothing else about the series changes. */
  readonly isByHand?: boolean;
}

export type Waiting = "outcome" | "order";

export type Decision = Decided &
  (
    | { readonly kind: "drifted" /** Event time. */; readonly sinceMs: number }
    | { readonly kind: "recovered" }
    /** `task` is given when trainers elsewhere are to do it: it is written with the decision. */
    | { readonly kind: "requested"; readonly requestId: string; readonly task: TrainingTask | null }
    | { readonly kind: "failed" }
    | { readonly kind: "refused"; readonly toVersion: string | null }
    /** The record is complete: its predecessor is in it. */
    | { readonly kind: "promoted"; readonly record: ModelRecord; readonly predecessorMase: number | null }
    | { readonly kind: "confirmed" }
    /** Null: nothing served before, the series is cold again. */
    | { readonly kind: "rolled-back"; readonly record: ModelRecord | null }
    | { readonly kind: "retired" }
  );

export type DecisionKind = Decision["kind"];

/** What is known of the model that serves a series, whoever owns it. */
export interface ServingFacts {
  /** The series id, or the cohort's name. */
  readonly modelKey: string;
  readonly version: string;
  readonly naiveErrors: readonly number[];
  /** Null when it validated on nothing. */
  readonly validationMase: number | null;
  readonly trainedAtMs: number;
  readonly trainedToMs: number;
}
