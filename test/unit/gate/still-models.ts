// Models whose nets say nothing, so that what they forecast is known: the level of their framing, or the season before,
// with a spread that is chosen. And histories to judge them on.

import type { History } from "../../../src/domain.ts";
import { createInProcessEngine } from "../../../src/engine/in-process-engine.ts";
import { createReferenceExecutor } from "../../../src/engine/reference/reference-executor.ts";
import type { TrainedModel } from "../../../src/models/family.ts";
import type { Engine } from "../../../src/models/forecastnet/engine.ts";
import type { ForecastNetModel } from "../../../src/models/forecastnet/model.ts";
import { type NetPlan, planNet } from "../../../src/models/forecastnet/plan.ts";
import { type Framing, specOf } from "../../../src/models/forecastnet/spec.ts";
import { createRandom } from "../../../src/runtime/random.ts";

export const hourMs = 3_600_000;
export const horizon = 6;
export const season = 6;
export const inputLength = 12;

export function openEngine(): Engine {
  const description = { name: "reference", device: "cpu", threads: 1, detail: "no threads" } as const;
  return createInProcessEngine(createReferenceExecutor(), description);
}

export interface StillOptions {
  readonly key?: string;
  readonly channels?: number;
  readonly horizon?: number;
  readonly inputLength?: number;
  readonly level?: Framing["level"];
  readonly scale?: Framing["scale"];
  /** Forecasts the value so many steps before each step, through the linear shortcut. At most the input length. */
  readonly season?: number;
  /** Standard deviation of the forecast, in raw units or, with the scale "deviation", in those of the window. */
  readonly spread?: number;
  /** Added to the forecast, in units of the spread. */
  readonly bias?: number;
  /** Written into every weight. */
  readonly weight?: number;
}

/** By default the mean of its window with a spread of 1. */
export function stillModel(options: StillOptions = {}): ForecastNetModel {
  const { key = "still", channels = 1, level = "mean", scale = "none", spread = 1, weight = 0 } = options;
  const spec = specOf("FN", options.horizon ?? horizon, {
    inputLength: options.inputLength ?? inputLength,
    channels,
    targets: Array.from({ length: channels }, (_, c) => c),
    cell: { kind: "dense", units: [2], activation: "relu" },
    shortcut: options.season === undefined ? "none" : "linear",
    framing: { level, scale },
  });
  const plan = planNet(spec);
  const weights = new Float32Array(plan.weightCount).fill(weight);
  // The deviation of a net without weights is softplus(0).
  const unit = spread / Math.LN2;
  if (options.bias !== undefined) {
    for (const { mean } of plan.cells) {
      weights.fill(options.bias * Math.LN2, mean.biasesAt, mean.biasesAt + mean.outputs);
    }
  }
  if (options.season !== undefined) repeatSeason(plan, weights, options.season);
  const each = (value: number) => Array.from({ length: channels }, () => value);
  return {
    ...{ family: "forecastnet" as const, key, version: `${key}-1`, spread: null },
    scaler: { offset: each(0), scale: each(unit) },
    members: [{ spec, weights, share: 1, residuals: null }],
  };
}

/** Gives the window's value one season before each step the weight 1, all others staying 0. */
function repeatSeason({ cells, spec }: NetPlan, weights: Float32Array, steps: number): void {
  for (const [h, { mean, outputs }] of cells.entries()) {
    const before = outputs + (spec.inputLength - steps + (h % steps)) * spec.channels;
    for (let c = 0; c < spec.channels; c++) weights[mean.weightsAt + c * mean.inputs + before + c] = 1;
  }
}

export function historyOf(values: ArrayLike<number>, changes: Partial<History> = {}): History {
  return {
    ...{ seriesId: "s", interval: "PT1H", firstTimeMs: 0, channels: 1 },
    ...{ values: Float64Array.from(values), filled: null },
    ...changes,
  };
}

/** Noise of deviation 1 around a level: the mean of the past is the best forecast, seasonal-naive is worse by √2. */
export function noise(steps: number, seed = 1): Float64Array {
  const random = createRandom(seed);
  return Float64Array.from({ length: steps }, () => 50 + random.normal());
}

/** A season with next to no noise: whoever repeats it is best. */
export function wave(steps: number, seed = 1): Float64Array {
  const random = createRandom(seed);
  return Float64Array.from(
    { length: steps },
    (_, t) => 50 + 5 * Math.sin((2 * Math.PI * t) / season) + 0.1 * random.normal(),
  );
}

/** Two channels side by side. */
export function sideBySide(left: Float64Array, right: Float64Array): Float64Array {
  return Float64Array.from({ length: 2 * left.length }, (_, i) => (i % 2 === 0 ? left : right)[i >> 1]);
}

/** The last step it learnt from is `trainedTo`, counted in hours. Its folds are those of a model of noise. */
export function trained(model: ForecastNetModel, trainedTo: number): TrainedModel {
  return {
    ...{
      model,
      storage: "float32",
      basis: "whole",
      folds: { mase: 0.75, crps: 0.55, points: 600 },
      naiveErrors: [1],
    },
    ...{ trainedFromMs: 0, trainedToMs: trainedTo * hourMs },
  };
}
