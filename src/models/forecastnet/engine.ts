// The interface that every engine implements: forecast a batch of (model, window) pairs, train nets, report what it
// runs on. Work runs off the event loop; results are in the order of the tasks.

import type { ForecastnetError } from "../../runtime/errors.ts";
import type { Distribution, ForecastOptions } from "../family.ts";
import type { TrainingSet } from "./framing.ts";
import type { ForecastNetModel } from "./model.ts";
import type { ForecastNetSpec } from "./spec.ts";

export interface EngineTask {
  readonly model: ForecastNetModel;
  /** Raw values, oldest first, the channels of a step adjacent; at least as many steps as the model's input length. */
  readonly window: Float64Array;
}

type Numbers = Float64Array | readonly number[];

/** The next τ steps in raw units. Arrays are [target][step]; plain ones where they have crossed from a thread. */
export interface EngineForecast extends Distribution {
  readonly mean: Numbers;
  readonly standardDeviation: Numbers;
  /** One array per requested level. */
  readonly quantiles: readonly Numbers[];
}

/** The result of one task. A model or window that does not fit fails its own task and no other. */
export type EngineAnswer = EngineForecast | ForecastnetError;

/**
 * The loss of a validation: "forced" feeds the true targets to the next cell, as training does; "free" feeds back the
 * net's own means. Both are the mean over rows, steps and targets of the spec's loss, with z = (y − μ)/σ:
 *   likelihood  log σ + z²/2, without the constant ½ log 2π
 *   crps        σ·(z·(2Φ(z) − 1) + 2φ(z) − 1/√π)
 *   squares     (y − μ)²
 */
export type Criterion = "forced" | "free";

export interface FitOptions {
  readonly seed: number;
  readonly batchSize: number;
  /** Steps between validations; null for one pass over all rows. */
  readonly stepsPerEpoch: number | null;
  readonly maxEpochs: number;
  readonly learningRate: number;
  readonly weightDecay: number;
  /** Factor on the learning rate for the weights of a linear shortcut. */
  readonly shortcutRate: number;
  /** "cosine" warms up for a few steps, then falls to zero at the last epoch. */
  readonly schedule: "constant" | "cosine";
  /** The validation loss that decides which weights are the best. */
  readonly criterion: Criterion;
}

export interface FitTask {
  readonly spec: ForecastNetSpec;
  /** Initial weights: drawn from the seed, or those of a model to train further. */
  readonly start: Float32Array;
  readonly training: TrainingSet;
  readonly validation: TrainingSet;
  readonly options: FitOptions;
}

export type FitResult =
  | {
      readonly outcome: "fitted";
      /** The weights with the best validation loss, not the last ones. */
      readonly weights: Float32Array;
      readonly validationLoss: number;
      /** The epoch of these weights; 0 for the initial ones. */
      readonly epoch: number;
      /** The weights after each epoch. */
      readonly epochs: readonly Float32Array[];
    }
  /** The loss was not a number, or grew without bound, before any improvement. */
  | { readonly outcome: "diverged"; readonly reason: string }
  | { readonly outcome: "cancelled" };

export interface EngineDescription {
  readonly name: "reference" | "simd" | "tensorflow";
  /** The hardware: "cpu" or "gpu". */
  readonly device: string;
  readonly threads: number;
  /** Versions, and the reason for this device, as text for a log line. */
  readonly detail: string;
}

/** The state of an engine, read at each metrics scrape. */
export interface EngineStatus {
  /** Null while the engine works; otherwise the reason why it cannot continue. */
  readonly trouble: string | null;
  readonly residentModels: number;
  readonly residentBytes: number;
  /** Forecasts that no thread has started. */
  readonly waitingForecasts: number;
}

export interface Engine {
  readonly description: EngineDescription;
  status(): EngineStatus;
  /** One answer per task, in order. Rejects only with ENGINE_FAILED, when the engine itself has failed. */
  forecast(tasks: readonly EngineTask[], options: ForecastOptions): Promise<readonly EngineAnswer[]>;
  /**
   * The signal ends training between two steps. Rejects with ENGINE_FAILED on an engine that only forecasts, as a
   * worker's does: training threads have their own.
   */
  fit(tasks: readonly FitTask[], signal?: AbortSignal): Promise<readonly FitResult[]>;
  /** Frees what the engine holds for a model that will not be requested again. */
  release(model: ForecastNetModel): void;
  close(): Promise<void>;
}
