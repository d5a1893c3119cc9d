// The retraining settings as they hold for one series: what 0 stands for is put in, and nothing asks for more history
// than is kept.

import type { SeriesSettings } from "../domain.ts";
import type { AppConfig } from "../runtime/config/schema.ts";
import type { DriftRules } from "./drift.ts";
import type { GateRules } from "./gate/gate.ts";

export interface RetrainRules extends DriftRules, GateRules {
  readonly minHistory: number;
  /** Infinite when age alone is no reason. */
  readonly maxAgeMs: number;
  readonly cooldownSteps: number;
  readonly rollingSteps: number;
  readonly probationSteps: number;
}

/** Scores over fewer steps than this are mostly chance, however short the horizon. */
const fewestScoredSteps = 36;
const hourMs = 3_600_000;

export function resolveRetrainRules(retrain: AppConfig["retrain"], settings: SeriesSettings): RetrainRules {
  const { horizon, season, history, driftRatio, driftBound } = settings;
  const { coverageBand, release, margin, maxAgeHours } = retrain;
  const scored = Math.max(4 * horizon, fewestScoredSteps);
  return {
    ...{ horizon, season, driftRatio, driftBound, coverageBand, release, margin },
    evidenceSteps: retrain.evidenceSteps || scored,
    rollingSteps: retrain.rollingSteps || scored,
    tailSteps: retrain.tailSteps || Math.min(3 * horizon, Math.floor(history / 4)),
    probationSteps: retrain.probationSteps || Math.max(2 * horizon, fewestScoredSteps),
    cooldownSteps: retrain.cooldownSteps || 4 * horizon,
    // A series never has more than is kept.
    minHistory: Math.min(retrain.minHistory || 12 * Math.max(season, horizon), history),
    maxAgeMs: maxAgeHours === 0 ? Number.POSITIVE_INFINITY : maxAgeHours * hourMs,
  };
}
