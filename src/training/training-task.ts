// The contract of training: the task of those who ask (the retraining loop, a request on the training topic) and the result of
// those who train (threads of this process, a trainer elsewhere). Data only.

import type { History } from "../domain.ts";
import type { FamilyPlan, Model, TrainedModel } from "../models/family.ts";

/**
 * "new" the first model; "drift" the model is stale; "age" it is old; "manual" somebody asked; "refresh" a linear model is fitted
 * to newer data; "upgrade" all families compete with a linear model.
 */
export type TrainingReason = "new" | "drift" | "age" | "manual" | "refresh" | "upgrade";

/** How to train. */
export interface TrainingPlan extends FamilyPlan {
  /** Steps at the end of each history that training must not see, because the gate scores there. */
  readonly holdBack: number;
  /** Time of a change of the series; null for none. A second challenger is trained on the part after it. */
  readonly recentFromMs: number | null;
  /** The version that is fitted to newer data, whose live scores and calibration go on. Missing for another model. */
  readonly refreshes?: string;
}

export interface TrainingTask {
  /** The same for the same task asked twice. */
  readonly id: string;
  readonly modelKey: string;
  readonly reason: TrainingReason;
  readonly plan: TrainingPlan;
  /** One series, or all members of a cohort. Never empty. */
  readonly histories: readonly History[];
  readonly requestedAtMs: number;
  /** The model that serves. Not part of a request: trainers elsewhere do without. */
  readonly champion?: Model;
}

interface TrainingCost {
  /** Processor time of the training; missing when nobody measured it. */
  readonly cpuSeconds?: number;
}

export type TrainingResult =
  /** At least one challenger; the gate takes the best one, or none. */
  | ({ readonly outcome: "trained"; readonly challengers: readonly TrainedModel[] } & TrainingCost)
  /** The same task fails again. */
  | ({ readonly outcome: "failed"; readonly reason: string } & TrainingCost)
  | { readonly outcome: "cancelled" };

/** Trains tasks. One result per task, in their order. Tasks given together may be trained stacked. */
export interface ModelTrainer {
  /** Rejects only with ENGINE_FAILED. */
  train(tasks: readonly TrainingTask[], signal: AbortSignal): Promise<readonly TrainingResult[]>;
  close(): Promise<void>;
}
