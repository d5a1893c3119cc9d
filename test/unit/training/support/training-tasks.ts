// Training tasks on made-up hourly series, small enough to train in a fraction of a second.

import assert from "node:assert/strict";
import type { History } from "../../../../src/domain.ts";
import type { TrainedModel } from "../../../../src/models/family.ts";
import type { ForecastNetModel } from "../../../../src/models/forecastnet/model.ts";
import { createRandom } from "../../../../src/runtime/random.ts";
import type { TrainingPlan, TrainingResult, TrainingTask } from "../../../../src/training/training-task.ts";
import { netOf } from "../../../rig/random-model.ts";

export const hourMs = 3_600_000;
export const firstTimeMs = Date.UTC(2024, 4, 1);
export const season = 6;

export interface Wave {
  readonly steps: number;
  readonly seed?: number;
  readonly scale?: number;
  readonly period?: number;
}

/** A noisy sine around a level. */
export function waveOf({ steps, seed = 1, scale = 1, period = season }: Wave): Float64Array {
  const random = createRandom(seed);
  return Float64Array.from({ length: steps }, (_, t) => {
    return scale * (20 + 3 * Math.sin((2 * Math.PI * (t + seed)) / period) + 0.4 * random.normal());
  });
}

export function historyOf(values: Float64Array, changes: Partial<History> = {}): History {
  return { seriesId: "s", interval: "PT1H", firstTimeMs, channels: 1, values, filled: null, ...changes };
}

const quickPlan: TrainingPlan = {
  ...{
    horizon: season,
    season,
    family: "forecastnet",
    form: "auto",
    effort: "quick",
    members: 2,
    holdBack: 0,
    recentFromMs: null,
  },
};

export function taskOf(
  histories: readonly History[],
  plan: Partial<TrainingPlan> = {},
  id = "task-1",
): TrainingTask {
  return {
    ...{ id, modelKey: "s", reason: "new", requestedAtMs: 0 },
    plan: { ...quickPlan, ...plan },
    histories,
  };
}

export interface TrainedNet extends TrainedModel {
  readonly model: ForecastNetModel;
}

/** Fails unless the task was trained, to nets. */
export function challengersOf(result: TrainingResult): readonly TrainedNet[] {
  assert.equal(result.outcome, "trained", JSON.stringify(result));
  if (result.outcome !== "trained") return [];
  return result.challengers.map((trained) => ({ ...trained, model: netOf(trained.model) }));
}

export function reasonOf(result: TrainingResult): string {
  assert.equal(result.outcome, "failed", JSON.stringify(result));
  return result.outcome === "failed" ? result.reason : "";
}

export function weightsOf({ members }: ForecastNetModel): readonly (readonly number[])[] {
  return members.map(({ weights }) => [...weights]);
}
