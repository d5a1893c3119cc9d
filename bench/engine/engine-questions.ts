// Questions of the bench to a process with an engine, the answers, and the models of its fleet.

import { planNet } from "../../src/models/forecastnet/plan.ts";
import { specOf } from "../../src/models/forecastnet/spec.ts";
import { horizon } from "./works.ts";

export type EngineQuestion =
  | { readonly kind: "open"; readonly engine: "simd" | "reference"; readonly threads: number }
  /** Grows the fleet to this many models and forecasts each once. */
  | { readonly kind: "grow"; readonly models: number }
  /** Forecasts the whole fleet this many times. */
  | { readonly kind: "forecast"; readonly passes: number }
  /** Trains this many nets. */
  | { readonly kind: "fit"; readonly nets: number }
  /** Means, deviations and quantiles of the first forecasts, and the validation loss of a fit. */
  | { readonly kind: "results"; readonly models: number }
  | { readonly kind: "memory" }
  /** A bare loop on as many threads as the engine has: the speed of the machine at that moment. */
  | { readonly kind: "spin" };

export interface EngineAnswer {
  readonly wallMs: number;
  readonly cpuMs: number;
  /** Memory of the process after garbage collection; 0 for other questions. */
  readonly residentBytes: number;
  readonly results: readonly number[];
}

/** Has a framing, as trained models do. */
export const fleetSpec = specOf("FN", horizon, { framing: { level: "mean", scale: "deviation" } });
export const weightBytes = 4 * planNet(fleetSpec).weightCount;
export const levels: readonly number[] = [0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975];
