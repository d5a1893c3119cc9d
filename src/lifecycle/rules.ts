// The retraining settings of one series. A zero is replaced by the default that it stands for, and no rule needs more history
// than is stored.

import type { SeriesSettings } from "../domain.ts";
import type { GateRules } from "../gate/gate.ts";
import { anyFamily } from "../models/families.ts";
import { naiveSeasonOf } from "../models/season.ts";
import type { AppConfig } from "../runtime/config/schema.ts";
import type { DriftRules } from "./drift.ts";

export interface RetrainRules extends DriftRules, GateRules {
  readonly minHistory: number;
  /** Steps from which on all families that compete for the series can be trained; 0 where only one is. */
  readonly fullHistory: number;
  /** Infinite when age is no reason to retrain. */
  readonly maxAgeMs: number;
  readonly cooldownSteps: number;
  readonly rollingSteps: number;
  readonly probationSteps: number;
}

/** Settings of the whole loop. */
export type RetrainSettings = Pick<
  AppConfig["retrain"],
  "where" | "schedule" | "jitterMs" | "perCycle" | "inFlight" | "timeoutMs" | "effort" | "members"
>;

/** Scores over fewer steps are mostly chance, however short the horizon. */
const fewestScoredSteps = 36;
const hourMs = 3_600_000;

export function resolveRetrainRules(retrain: AppConfig["retrain"], settings: SeriesSettings): RetrainRules {
  const { horizon, season, history, driftRatio, driftBound, family } = settings;
  // Linear models need less to learn from than nets.
  const isQuick = family === anyFamily || family === "linear";
  const { coverageBand, release, margin, maxAgeHours } = retrain;
  const scored = Math.max(4 * horizon, fewestScoredSteps);
  return {
    horizon,
    season: naiveSeasonOf(settings),
    bounds: settings.bounds,
    driftRatio,
    driftBound,
    coverageBand,
    release,
    margin,
    evidenceSteps: retrain.evidenceSteps || scored,
    rollingSteps: retrain.rollingSteps || scored,
    tailSteps: retrain.tailSteps || Math.min(3 * horizon, Math.floor(history / 4)),
    probationSteps: retrain.probationSteps || Math.max(2 * horizon, fewestScoredSteps),
    cooldownSteps: retrain.cooldownSteps || 4 * horizon,
    // A series never has more than is stored.
    minHistory: Math.min(retrain.minHistory || (isQuick ? 6 : 12) * Math.max(season, horizon), history),
    fullHistory: family === anyFamily ? Math.min(12 * Math.max(season, horizon), history) : 0,
    maxAgeMs: maxAgeHours === 0 ? Number.POSITIVE_INFINITY : maxAgeHours * hourMs,
  };
}
