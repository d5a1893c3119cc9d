// The interface of model families. A family is one way to forecast. Gate, lifecycle, scoring, cohorts, import and export know
// models only through this file, so all families are peers. To add one, add a folder beside this file and one line to
// families.ts.

import type { ErrorSummary, ModelForm, SeriesSettings } from "../domain.ts";
import type { ForecastnetError } from "../runtime/errors.ts";
import type { HeldOutForecasts } from "./held-out.ts";

/** Scales raw values: (value − offset) / scale, per channel. Fitted on the training part only. */
export interface Scaler {
  readonly offset: readonly number[];
  /** Never zero. */
  readonly scale: readonly number[];
  /** True where square roots of the values are scaled (roots.ts). */
  readonly ofRoots?: boolean;
}

/** A trained forecaster of one series or cohort. Immutable: retraining gives another object with another version. */
export interface Model {
  /** Name of the family. */
  readonly family: string;
  /** A series id, or the key of a cohort. */
  readonly key: string;
  readonly version: string;
  /** Missing in families that do not scale. */
  readonly scaler?: Scaler;
}

/** The series that a model fits, and what it forecasts. */
export interface ModelShape {
  readonly horizon: number;
  readonly channels: number;
  /** Channels that it forecasts, ascending. */
  readonly targets: readonly number[];
  /** Steps without a gap that must end at the origin. */
  readonly inputSteps: number;
}

/** A series at one origin, as a family sees it. A `Window` is one. */
export interface ForecastInput {
  /** The last steps without a gap, oldest first, channels of a step side by side. */
  readonly values: Float64Array;
  readonly channels: number;
  /** Number of the last step among those of its interval (`stepNumberOf`): tells the phase of the week. */
  readonly originStep: number;
  readonly settings: Pick<SeriesSettings, "horizon" | "season" | "naiveSeason" | "bounds">;
  /** Past errors of "the same as one season ago", for the season of seasonal naive, one entry per channel; null before two seasons are known. */
  readonly seasonalErrors: readonly ErrorSummary[] | null;
}

export interface ForecastTask<M extends Model = Model> {
  readonly model: M;
  readonly input: ForecastInput;
}

export interface ForecastOptions {
  /** Quantile levels, ascending, between 0 and 1. */
  readonly levels: readonly number[];
  /** Sample paths per forecast, in families that draw them; divided among the members of a model. */
  readonly paths: number;
}

/** The next τ steps in units of the series. Arrays are [target][step]. */
export interface Distribution {
  readonly mean: ArrayLike<number>;
  readonly standardDeviation: ArrayLike<number>;
  /** One array per level. */
  readonly quantiles: readonly ArrayLike<number>[];
}

/** An unfit model or input fails its own forecast only. */
export type ForecastAnswer = Distribution | ForecastnetError;

/** How many candidates are tried for a model. More forecast better and take longer. */
export const efforts = ["quick", "normal", "thorough"] as const;
export type Effort = (typeof efforts)[number];

/** What kind of model to train. */
export interface FamilyPlan {
  readonly family: string;
  readonly horizon: number;
  readonly season: number;
  /** Used by ForecastNet only. */
  readonly form: ModelForm;
  readonly effort: Effort;
  /** Most nets in a model. Used by ForecastNet only. */
  readonly members: number;
}

/** One series to train on. */
export interface TrainingSeries {
  /** Oldest first, channels of a step side by side, NaN in a gap. */
  readonly values: Float64Array;
  /** One byte per step: 1 where the values were filled in, which training may use and scores may not. Null for none. */
  readonly filled: Uint8Array | null;
  /** Number of the first step, as in `ForecastInput`; 0 where it is missing. */
  readonly firstStep?: number;
}

export interface FamilyTask {
  readonly key: string;
  readonly plan: FamilyPlan;
  readonly channels: number;
  /** One series, or the members of a cohort. Never empty. */
  readonly series: readonly TrainingSeries[];
  readonly seed: number;
  /** The model that the new one is to replace, of any family. Training may take its choices from it. */
  readonly champion?: Model;
}

/** Scores of models trained on a part of the history on the part that follows, in units of the naive error. */
export interface FoldScores {
  readonly mase: number;
  readonly crps: number;
  readonly points: number;
}

/** The version of a model fresh from its family: training names it after its bytes. */
export const unnamed = "unnamed";

export type FamilyResult<M extends Model = Model> =
  /** The version is `unnamed`, or fixed for a model without numbers of its own. */
  | {
      readonly outcome: "trained";
      readonly model: M;
      readonly folds: FoldScores;
      /** By which ensembles weigh the model. Models without take no part in them. */
      readonly heldOut?: HeldOutForecasts;
    }
  /** The same task fails again. */
  | { readonly outcome: "failed"; readonly reason: string }
  | { readonly outcome: "cancelled" };

/** The result of a training. */
export interface TrainedModel {
  readonly model: Model;
  /** How the model is stored. It holds all its numbers exactly, so that a restored model forecasts the same bytes. */
  readonly storage: Storage;
  /** Trained on the whole history, or on the part after a change of the series. */
  readonly basis: "whole" | "recent";
  readonly folds: FoldScores;
  /** Per channel: mean one-step naive error of the training part; 1 for a flat series, so never zero. */
  readonly naiveErrors: readonly number[];
  /** Times of the oldest and newest slot of the training part. */
  readonly trainedFromMs: number;
  readonly trainedToMs: number;
}

/** How weights are stored. */
export type Storage = "float32" | "float16";

export interface ModelFamily<M extends Model = Model> {
  readonly name: string;
  shapeOf(model: M): ModelShape;
  /** The model in one line of JSON, for people. */
  describe(model: M): string;
  /** One answer per task, in the order of the tasks. Rejects only with ENGINE_FAILED. */
  forecast(
    tasks: readonly ForecastTask<M>[],
    options: ForecastOptions,
  ): readonly ForecastAnswer[] | Promise<readonly ForecastAnswer[]>;
  /** Rejects only with ENGINE_FAILED. */
  train(task: FamilyTask, signal: AbortSignal): Promise<FamilyResult<M>>;
  /** Bytes with a format version and a checksum. Throws MODEL_UNFIT for a model that cannot be read back. */
  encode(model: M, storage: Storage): Uint8Array;
  /** Checks every byte. `where` names the source in errors. Throws MODEL_UNFIT. */
  decode(bytes: Uint8Array, where: string): M;
  /** The model is not used any more: frees what is held for it. */
  release(model: M): void;
}
