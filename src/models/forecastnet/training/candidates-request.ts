// What the training of candidates is asked for, and what it hands back.

import type { TrainingSeries } from "../../family.ts";
import type { Fold, MeasuredSeries } from "../../folds.ts";
import type { HeldOutForecasts } from "../../held-out.ts";
import type { ForecastNetSpec } from "../spec.ts";
import type { Scalers } from "./training-rows.ts";

export interface OnwardSchedule {
  /** Epochs on the first part of the history. */
  readonly epochs: number;
  /** Epochs on each longer part. */
  readonly further: number;
  /** Most nets that go on after the first part. */
  readonly kept: number;
}

export interface CandidatesRequest {
  /** Nets to try, all for the same horizon, channels and targets. */
  readonly specs: readonly ForecastNetSpec[];
  /** One series, or the members of a cohort, which need frames that remove level and scale. */
  readonly series: readonly TrainingSeries[];
  readonly seed: number;
  /** How nets with a linear shortcut are trained. Those without always train long: they have no start to improve on. */
  readonly schedule: OnwardSchedule;
  /** Most nets of the model. */
  readonly members: number;
  readonly signal?: AbortSignal;
}

export interface TrainedCandidate {
  readonly spec: ForecastNetSpec;
  /** Trained on the whole history, with its scaler. */
  readonly weights: Float32Array;
  /** As of a `Member`. */
  readonly residuals: Float32Array | null;
  /** Forecasts at the origins of the folds, by weights that were not trained there. */
  readonly forecasts: HeldOutForecasts;
}

/** Shared by all candidates. */
export interface TrialData {
  readonly series: readonly MeasuredSeries[];
  readonly folds: readonly Fold[];
  /** Of the whole history: scaling shows a net nothing of what follows its part but level and deviation. */
  readonly scalers: Scalers;
}

/** Why a candidate could not be trained. */
export interface CandidateFailure {
  readonly failure: string;
}

export type CandidateResults = readonly (TrainedCandidate | CandidateFailure)[] | "cancelled";
