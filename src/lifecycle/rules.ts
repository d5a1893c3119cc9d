// The retraining settings of one series. A zero is replaced by the default that it stands for, and no rule needs more history
// than is stored.

import type { SeriesSettings } from "../domain.ts";
import type { GateRules } from "../gate/gate.ts";
import { anyFamily } from "../models/families.ts";
import { naiveSeasonOf } from "../models/season.ts";
import type { AppConfig } from "../runtime/config/schema.ts";
import type { DriftRules } from "./drift.ts";

export interface RetrainRules extends DriftRules, GateRules {
  /** The family of the first model. */
  readonly firstFamily: string;
  /** Steps from which on there is a first model. */
  readonly minHistory: number;
  /** The family that models are trained with when there is time for the best; the same as the first where only one is asked for. */
  readonly bestFamily: string;
  /** Steps from which on the best family can be trained. */
  readonly bestHistory: number;
  /** Steps after which a linear model is fitted to newer data. */
  readonly refreshSteps: number;
  /** Infinite when age is no reason to retrain. */
  readonly maxAgeMs: number;
  readonly cooldownSteps: number;
  readonly rollingSteps: number;
  readonly probationSteps: number;
}

/** Settings of the whole loop. */
export type RetrainSettings = Pick<
  AppConfig["retrain"],
  | "where"
  | "schedule"
  | "jitterMs"
  | "perCycle"
  | "inFlight"
  | "timeoutMs"
  | "effort"
  | "members"
  | "cpuSecondsPerHour"
  | "leastGain"
>;

/** Scores over fewer steps are mostly chance, however short the horizon. */
const fewestScoredSteps = 36;
const hourMs = 3_600_000;
/**
 * Seasons or horizons, whichever is longer, from which on models of a family are trained. A quarter of a young history is held
 * back for the gate. Linear models that were fitted to six seasons beat seasonal-naive on average; those of four did not.
 */
const linearSpans = 8;
const netSpans = 12;

export function resolveRetrainRules(retrain: AppConfig["retrain"], settings: SeriesSettings): RetrainRules {
  const { horizon, season, history, driftRatio, driftBound, family } = settings;
  const [firstFamily, bestFamily] = family === anyFamily ? ["linear", "ensemble"] : [family, family];
  const span = Math.max(season, horizon);
  // A series never has more than is stored.
  const stepsFor = (name: string) =>
    Math.min(retrain.minHistory || (name === "linear" ? linearSpans : netSpans) * span, history);
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
    firstFamily,
    minHistory: stepsFor(firstFamily),
    bestFamily,
    bestHistory: stepsFor(bestFamily),
    refreshSteps: span,
    maxAgeMs: maxAgeHours === 0 ? Number.POSITIVE_INFINITY : maxAgeHours * hourMs,
  };
}

/** Steps at the end of a history of this length that training does not see and the gate judges on: fewer of a young series. */
export function heldBackSteps({ tailSteps, horizon }: GateRules, steps: number): number {
  return Math.min(tailSteps, Math.max(horizon, Math.floor(steps / 4)));
}
