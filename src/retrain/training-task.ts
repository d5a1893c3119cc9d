// What a training is asked for and what comes of it: the contract between those who ask (the retraining loop, a
// request on the training topic) and those who train (threads of this process, a trainer elsewhere). Data only.

import type { ModelForm } from "../domain.ts";
import type { ForecastNetModel } from "../models/forecastnet/model.ts";

export type TrainingReason = "new" | "drift" | "age" | "manual";

/** How many nets are tried for a model; more of them forecast better and take longer. */
export type Effort = "quick" | "normal" | "thorough";

/** The kept past of one series on its grid. */
export interface History {
  readonly seriesId: string;
  /** The step of its grid, an ISO 8601 duration. */
  readonly interval: string;
  /** Time of the first slot. */
  readonly firstTimeMs: number;
  readonly channels: number;
  /** Slot after slot, channels side by side. Short gaps are filled as in a window; NaN where a gap was too long. */
  readonly values: Float64Array;
  /** One byte per slot: 1 where it was filled rather than observed. Null when nothing was filled. */
  readonly filled: Uint8Array | null;
}

/** How to train; what the worker says of a model it wants. */
export interface TrainingPlan {
  readonly horizon: number;
  readonly season: number;
  readonly form: ModelForm;
  readonly effort: Effort;
  /** Nets that are served together at most. */
  readonly members: number;
  /** Steps at the end of each history that training must not see: the gate judges there. */
  readonly holdBack: number;
  /** Since when the series is another one; null when nothing says so. A second challenger learns from there on only. */
  readonly recentFromMs: number | null;
}

export interface TrainingTask {
  /** The same task asked twice has the same id. */
  readonly id: string;
  readonly modelKey: string;
  readonly reason: TrainingReason;
  readonly plan: TrainingPlan;
  /** One series, or all members of a cohort. Never empty. */
  readonly histories: readonly History[];
  readonly requestedAtMs: number;
}

/** How good the model's twins were on parts of the history that they had not seen. */
export interface FoldScores {
  /** Mean absolute error over `naiveErrors`. */
  readonly mase: number;
  /** Over `naiveErrors` as well. */
  readonly crps: number;
  readonly points: number;
}

export interface TrainedModel {
  readonly model: ForecastNetModel;
  /** Learnt from all of the history, or from what followed `recentFromMs`. */
  readonly basis: "whole" | "recent";
  readonly folds: FoldScores;
  /** Per channel: the mean one-step naive error over what was learnt from; never zero (a flat series: 1). */
  readonly naiveErrors: readonly number[];
  /** Times of the oldest and newest slot learnt from. */
  readonly trainedFromMs: number;
  readonly trainedToMs: number;
}

export type TrainingResult =
  /** At least one; the gate takes the best, or none. */
  | { readonly outcome: "trained"; readonly challengers: readonly TrainedModel[] }
  /** Trying the same again gives the same. */
  | { readonly outcome: "failed"; readonly reason: string }
  | { readonly outcome: "cancelled" };

/** Whoever trains. One result per task, in their order; tasks given together may be trained stacked. */
export interface ModelTrainer {
  /** Rejects with ENGINE_FAILED only, when whoever trains is broken. */
  train(tasks: readonly TrainingTask[], signal: AbortSignal): Promise<readonly TrainingResult[]>;
  close(): Promise<void>;
}
