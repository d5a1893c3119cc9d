// The interface every engine offers: forecast a batch of (model, window) pairs, train nets, say what it runs on.
// Work is done off the event loop; results come back in the order of the tasks.

import type { TrainingSet } from "../models/forecastnet/framing.ts";
import type { ForecastNetModel } from "../models/forecastnet/model.ts";
import type { ForecastNetSpec } from "../models/forecastnet/spec.ts";
import type { ForecastnetError } from "../runtime/errors.ts";
import type { Criterion, Derivatives } from "./executor.ts";

export interface ForecastTask {
  readonly model: ForecastNetModel;
  /** Raw values, oldest first, channels of a step side by side; at least the model's input length of steps. */
  readonly window: Float64Array;
}

export interface ForecastOptions {
  /** Sample paths per forecast, shared among the members of a model. */
  readonly paths: number;
  /** Quantile levels, ascending, between 0 and 1. */
  readonly levels: readonly number[];
  /** Whether the paths themselves are wanted. */
  readonly keepPaths: boolean;
}

/** The next τ steps in raw units. Arrays are [target][step]. */
export interface Distribution {
  readonly mean: Float64Array;
  readonly standardDeviation: Float64Array;
  /** One array per level asked for. */
  readonly quantiles: readonly Float64Array[];
  /** [target][step][path]; null unless asked for. */
  readonly paths: Float64Array | null;
}

/** What became of one task: a model or window that does not fit costs its own forecast and no other. */
export type ForecastAnswer = Distribution | ForecastnetError;

export interface FitOptions {
  readonly seed: number;
  readonly batchSize: number;
  /** Steps after which the net is validated; null: once through all rows. */
  readonly stepsPerEpoch: number | null;
  readonly maxEpochs: number;
  /** Epochs without a better validation loss after which training ends. */
  readonly patience: number;
  /** Tried from the same start for `searchEpochs` each; training goes on with the one that validated best. */
  readonly learningRates: readonly number[];
  readonly searchEpochs: number;
  readonly weightDecay: number;
  /** Of the learning rate, for the weights of a linear shortcut. */
  readonly shortcutRate: number;
  /** "cosine" warms up for a few steps and then falls to zero at the last of the epochs. */
  readonly schedule: "constant" | "cosine";
  /** Whether the weights after each epoch are wanted as well. */
  readonly keepsEpochs: boolean;
  /** Which loss decides when to stop and what to keep. */
  readonly criterion: Criterion;
}

export interface FitTask {
  readonly spec: ForecastNetSpec;
  /** First weights: drawn from the seed, or those of a model that is trained on. */
  readonly start: Float32Array;
  readonly training: TrainingSet;
  readonly validation: TrainingSet;
  readonly options: FitOptions;
}

export type FitResult =
  | {
      readonly outcome: "fitted";
      /** The weights that validated best, not the last ones. */
      readonly weights: Float32Array;
      readonly validationLoss: number;
      readonly learningRate: number;
      /** The epoch of these weights, counted from the start of the search. */
      readonly epoch: number;
      /** The weights after each epoch of training, when they were asked for; the search is left out. */
      readonly epochs: readonly Float32Array[];
    }
  /** The loss was not a number, or grew without bound, at every learning rate. */
  | { readonly outcome: "diverged"; readonly reason: string }
  | { readonly outcome: "cancelled" };

export interface FitProgress {
  /** Index of the task. */
  readonly task: number;
  readonly epoch: number;
  readonly trainingLoss: number;
  readonly validationLoss: number;
}

export interface FitControl {
  /** Ends training between two steps. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: FitProgress) => void;
}

export interface EngineDescription {
  readonly name: "reference" | "simd" | "tensorflow";
  /** What the arithmetic runs on: "cpu", "gpu". */
  readonly device: string;
  readonly threads: number;
  /** Versions and why this device, in words for a log line. */
  readonly detail: string;
}

/** What is read off an engine at each scrape. */
export interface EngineStatus {
  /** Null while it works; otherwise why it can do nothing more. */
  readonly trouble: string | null;
  readonly residentModels: number;
  readonly residentBytes: number;
  /** Forecasts, and nets to train, that nobody works on yet. */
  readonly waitingForecasts: number;
  readonly waitingFits: number;
}

export interface Engine {
  readonly description: EngineDescription;
  status(): EngineStatus;
  /** One answer per task, in their order. Rejects with ENGINE_FAILED only, when the engine itself is broken. */
  forecast(tasks: readonly ForecastTask[], options: ForecastOptions): Promise<readonly ForecastAnswer[]>;
  fit(tasks: readonly FitTask[], control?: FitControl): Promise<readonly FitResult[]>;
  differentiate(spec: ForecastNetSpec, weights: Float32Array, rows: TrainingSet): Promise<Derivatives>;
  /** A replaced model will not be asked for again: whatever is kept for it may go. */
  release(model: ForecastNetModel): void;
  close(): Promise<void>;
}
