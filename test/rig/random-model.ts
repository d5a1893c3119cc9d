// Models with weights drawn from a seed: untrained, but forecasting as any model does.

import assert from "node:assert/strict";
import type { Model } from "../../src/models/family.ts";
import { initialWeights } from "../../src/models/forecastnet/initial-weights.ts";
import type { ForecastNetModel } from "../../src/models/forecastnet/model.ts";
import { planNet } from "../../src/models/forecastnet/plan.ts";
import { type ForecastNetSpec, type Form, specOf } from "../../src/models/forecastnet/spec.ts";

export interface RandomModelOptions {
  readonly key?: string;
  readonly version?: string;
  readonly seed?: number;
  readonly form?: Form;
  readonly horizon?: number;
  readonly spec?: Partial<ForecastNetSpec>;
}

export function randomModel(options: RandomModelOptions = {}): ForecastNetModel {
  const { key = "a", version = "v1", seed = 1, form = "FN", horizon = 3 } = options;
  const spec = specOf(form, horizon, {
    cell: { kind: "dense", units: [4], activation: "relu" },
    ...options.spec,
  });
  const errors = spec.horizon * spec.targets.length;
  const member = {
    spec,
    weights: initialWeights(planNet(spec), seed),
    share: 1,
    residuals: spec.output === "linear" ? new Float32Array(errors).fill(0.1) : null,
  };
  const each = (value: number) => Array.from({ length: spec.channels }, () => value);
  return {
    family: "forecastnet",
    key,
    version,
    scaler: { offset: each(0), scale: each(10) },
    members: [member],
    spread: null,
  };
}

/** The model as a ForecastNet. Fails for a model of another family. */
export function netOf(model: Model): ForecastNetModel {
  assert.equal(model.family, "forecastnet");
  return model as ForecastNetModel;
}

/** A window that the model can be asked with. */
export function waveOf(model: ForecastNetModel, phase = 0): Float64Array {
  const { inputLength, channels } = model.members[0].spec;
  return Float64Array.from({ length: inputLength * channels }, (_, i) => 5 + 3 * Math.sin(i / 2 + phase));
}
