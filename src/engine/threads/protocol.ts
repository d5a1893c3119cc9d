// What an engine and its threads say to one another. Numbers cross in one transferred array per message; weights
// lie in shared memory and never cross at all.

import type { TrainingSet } from "../../models/forecastnet/framing.ts";
import type { ForecastNetModel } from "../../models/forecastnet/model.ts";
import type { ForecastNetSpec } from "../../models/forecastnet/spec.ts";
import { type ErrorCode, ForecastnetError } from "../../runtime/errors.ts";
import type { FitProgress, FitResult, FitTask, ForecastOptions } from "../engine.ts";
import type { Derivatives } from "../executor.ts";

/** Which arithmetic a thread hosts. */
export type ExecutorSetup =
  | { readonly kind: "reference" }
  | { readonly kind: "simd" }
  | { readonly kind: "tensorflow"; readonly memoryMb: number };

/** Windows of some models, packed one after the other. */
export interface PackedTasks {
  /** Numbers that the models were announced under. */
  readonly modelIds: Int32Array;
  /** How many values of `windows` belong to each task. */
  readonly lengths: Int32Array;
  readonly windows: Float64Array;
}

/** Distributions one after the other, a failed task's left out. Each: mean, deviation, quantiles, paths. */
export interface PackedAnswers {
  readonly values: Float64Array;
  /** How many values each task's paths take; 0 when they were not asked for. */
  readonly pathLengths: Int32Array;
  readonly failures: readonly { readonly task: number; readonly failure: Failure }[];
}

/** An error as it crosses to another thread. */
export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
}

/** What can be asked of a thread. */
export interface Jobs {
  readonly forecast: { readonly tasks: PackedTasks; readonly options: ForecastOptions };
  readonly fit: { readonly tasks: readonly FitTask[] };
  readonly differentiate: {
    readonly spec: ForecastNetSpec;
    readonly weights: Float32Array;
    readonly rows: TrainingSet;
  };
}

/** And what it answers. */
export interface JobResults {
  readonly forecast: PackedAnswers;
  readonly fit: readonly FitResult[];
  readonly differentiate: Derivatives;
}

export type JobKind = keyof Jobs;

export type JobMessage = {
  readonly [K in JobKind]: { readonly kind: K; readonly job: number } & Jobs[K];
}[JobKind];

/** Nets that an executor keeps on its device. */
export interface DeviceMemory {
  readonly models: number;
  readonly bytes: number;
}

/** Jobs are numbered; each is answered once, by "done" or "failed". */
export type ToThread =
  | JobMessage
  | { readonly kind: "model"; readonly id: number; readonly model: ForecastNetModel }
  | { readonly kind: "forget"; readonly id: number }
  | { readonly kind: "cancel"; readonly job: number }
  | { readonly kind: "close" };

export type FromThread =
  | { readonly kind: "ready"; readonly device: string; readonly detail: string }
  | { readonly kind: "progress"; readonly job: number; readonly progress: FitProgress }
  | {
      readonly kind: "done";
      readonly job: number;
      readonly result: JobResults[JobKind];
      /** Null when the executor has no device of its own. */
      readonly resident: DeviceMemory | null;
    }
  | { readonly kind: "failed"; readonly job: number; readonly failure: Failure };

export function toFailure(error: ForecastnetError): Failure {
  return { code: error.code, message: error.message };
}

export function fromFailure({ code, message }: Failure): ForecastnetError {
  return new ForecastnetError(code, message);
}
