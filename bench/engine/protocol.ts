// Questions of the bench to its contestants, and their answers: one JSON line each, the same for our executors and for
// rivals in other languages. Arrays are in binary files, little-endian, float32 unless stated.

import type { NetPlan } from "../../src/models/forecastnet/plan.ts";

/** One piece of work, the same for all contestants. Every model has its own weights and data. */
export type Work = {
  readonly name: string;
  readonly plan: NetPlan;
  readonly models: number;
} & (
  | {
      readonly kind: "forecast";
      readonly paths: number;
      /** weights [model][weight], windows [model][windowSize], noise [step][path] */
      readonly files: { readonly weights: string; readonly windows: string; readonly noise: string };
    }
  | {
      readonly kind: "train";
      readonly batch: number;
      readonly learningRate: number;
      /** weights [model][weight], windows [model][row][windowSize], targets [model][row][step] */
      readonly files: { readonly weights: string; readonly windows: string; readonly targets: string };
    }
);

/** Steps whose losses are compared; each depends on the gradients and the Adam update of those before it. */
export const comparedSteps = 3;

export type Question =
  | { readonly do: "hello" }
  /** Ours only: the highest rate of 128-bit arithmetic on the core. */
  | { readonly do: "peak" }
  /** Replaces the work loaded before. */
  | ({ readonly do: "load" } & Work)
  /**
   * Writes float64 results of the first models to a file: for a forecast [model][mean, deviation][step][path], for
   * training the loss before each of the first steps [model][step]. Step s of training uses the s-th block of
   * `batch` rows, cyclically. The answer is the time.
   */
  | {
      readonly do: "run";
      readonly rival: string;
      readonly work: string;
      readonly models: number;
      readonly file: string;
    }
  /**
   * Repeats the work of the first models until `minMs` have passed; training restarts. With `warmUp` it runs once
   * before the clock starts.
   */
  | {
      readonly do: "time";
      readonly rival: string;
      readonly work: string;
      readonly models: number;
      readonly minMs: number;
      readonly warmUp: boolean;
    };

export interface Timing {
  /** Forecasts, or training steps, of single models. */
  readonly units: number;
  readonly ms: number;
  /** CPU time of all threads of the process, user and system. */
  readonly cpuMs: number;
}

/** Library and version of the contestant, as text. */
export interface Greeting {
  readonly about: string;
}

export interface Peak {
  readonly gigaflops: number;
}

export type Answer<Result> = Result | { readonly error: string };
