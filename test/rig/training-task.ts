// Training tasks and what comes of them, made up: nothing here is trained.

import type { TrainedModel } from "../../src/models/family.ts";
import type { TrainingTask } from "../../src/training/training-task.ts";
import { randomModel } from "./random-model.ts";

const firstTimeMs = Date.UTC(2024, 0, 1);

export function trainingTask(changes: Partial<TrainingTask> = {}): TrainingTask {
  const { modelKey = "a" } = changes;
  const values = Float64Array.from({ length: 60 }, (_, t) => (t === 7 ? Number.NaN : Math.sin(t)));
  const filled = Uint8Array.from({ length: 60 }, (_, t) => (t === 9 ? 1 : 0));
  return {
    id: `request for ${modelKey}`,
    modelKey,
    reason: "drift",
    plan: {
      ...{
        horizon: 3,
        season: 4,
        family: "forecastnet",
        form: "auto",
        effort: "quick",
        members: 2,
        holdBack: 9,
      },
      recentFromMs: firstTimeMs + 3_600_000,
    },
    histories: [{ seriesId: modelKey, interval: "PT1H", firstTimeMs, channels: 1, values, filled }],
    requestedAtMs: firstTimeMs + 1,
    ...changes,
  };
}

export function trainedModel(changes: Partial<TrainedModel> & { readonly key?: string } = {}): TrainedModel {
  const { key = "a", ...facts } = changes;
  return {
    model: randomModel({ key, version: "v2" }),
    storage: "float32",
    basis: "whole",
    folds: { mase: 0.5, crps: 0.25, points: 24 },
    naiveErrors: [4],
    trainedFromMs: firstTimeMs,
    trainedToMs: firstTimeMs + 50 * 3_600_000,
    ...facts,
  };
}
