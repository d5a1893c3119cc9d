// What the bench asks of the contestants, and what they answer: one JSON line each way, the same for our executors
// and for the rivals in other languages. Arrays travel in binary files, little-endian, float32 unless told.

import type { NetPlan } from "../../src/models/forecastnet/plan.ts";

/** One piece of work, the same for whoever does it. Every model has weights and data of its own. */
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
  /** Of ours only: the most that 128-bit arithmetic does on the core. */
  | { readonly do: "peak" }
  /** Replaces the work loaded before. */
  | ({ readonly do: "load" } & Work)
  /**
   * Writes float64 results of the first models to a file: for a forecast [model][mean, deviation][step][path], for
   * training the loss before each of the first steps [model][step]. Step s of training takes the s-th block of
   * `batch` rows, round and round. Answers how long that took.
   */
  | {
      readonly do: "run";
      readonly rival: string;
      readonly work: string;
      readonly models: number;
      readonly file: string;
    }
  /**
   * Does the work of the first models again and again until `minMs` have passed; training begins afresh. With
   * `warmUp` once before the clock runs.
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
  /** Processor time of all threads of the process, user and system. */
  readonly cpuMs: number;
}

/** What the contestant runs on, in words. */
export interface Greeting {
  readonly about: string;
}

export interface Peak {
  readonly gigaflops: number;
}

export type Answer<Result> = Result | { readonly error: string };
