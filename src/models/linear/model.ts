// A linear model: what it forecasts with.
//
// Legend: C channels, L steps in a window, p = L·C inputs, τ steps ahead, m = τ·C outputs (channels of a step side by side). With a the last
// value of a channel, and a′ = (a − offset) / scale,
//   a model of one series   v = offset + scale·(constant + carry·a′ + Σ weight·(x − a)/scale)
//   a model of a cohort     v = a + unit·Σ weight·(x − a)/unit, with unit the deviation of the window
// where the scaler is one of roots, x and v are roots. A model with a week adds what weekAhead says before it scales back.
// Weights thus apply to differences: rounding them to half precision costs the same at any level.

import type { Model, Scaler } from "../family.ts";
import type { MapShape } from "../regression/affine-map.ts";
import type { WeekTerm } from "../regression/week-profile.ts";
import type { ErrorModel } from "./error-model.ts";

export interface LinearModel extends Model {
  readonly shape: MapShape;
  /** Whether it serves one series, in units of its scaler, or a cohort, in units of the window. */
  readonly serves: "series" | "cohort";
  readonly scaler: Scaler;
  /** [output][input] */
  readonly weights: Float32Array;
  /** What the last value of each channel adds, [output][channel]. */
  readonly carry: Float32Array;
  /** [output] */
  readonly constant: Float32Array;
  /** Null where no week shows. */
  readonly week: StoredWeek | null;
  readonly errors: ErrorModel;
}

type StoredWeek = { readonly [part in keyof WeekTerm]: Float32Array };
