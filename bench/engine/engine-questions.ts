// What the bench asks a process that holds an engine, what it answers, and what the models of its fleet are.

import { planNet } from "../../src/models/forecastnet/plan.ts";
import { specOf } from "../../src/models/forecastnet/spec.ts";
import { horizon } from "./works.ts";

export type EngineQuestion =
  | { readonly kind: "open"; readonly engine: "simd" | "reference"; readonly threads: number }
  /** Grows the fleet to so many models, and forecasts each once. */
  | { readonly kind: "grow"; readonly models: number }
  /** Forecasts the whole fleet so many times. */
  | { readonly kind: "forecast"; readonly passes: number }
  /** Trains so many nets. */
  | { readonly kind: "fit"; readonly nets: number }
  /** Means, deviations and quantiles of the first forecasts, and weights of the first fit. */
  | { readonly kind: "results"; readonly models: number }
  | { readonly kind: "memory" }
  /** A bare loop on as many threads as the engine has: what the machine gives them at that moment. */
  | { readonly kind: "spin" };

export interface EngineAnswer {
  readonly wallMs: number;
  readonly cpuMs: number;
  /** Of the process, after garbage collection; 0 unless asked for. */
  readonly residentBytes: number;
  readonly results: readonly number[];
}

/** A framing that every window is put through, as a trained model would have it. */
export const fleetSpec = specOf("FN", horizon, {
  framing: { level: "mean", scale: "deviation", season: 24 },
});
export const weightBytes = 4 * planNet(fleetSpec).weightCount;
export const levels: readonly number[] = [0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975];
