// Probation: whether a promoted model has done worse than what it replaced would have done, on what came since.

import type { Engine } from "../../engine/engine.ts";
import type { ForecastNetModel } from "../../models/forecastnet/model.ts";
import type { History } from "../training-task.ts";
import { beats, percent, togetherRatio } from "./compare.ts";
import { type GateRules, neededSteps, stepsJudged, tooFew } from "./gate.ts";
import { type Judgement, judge } from "./judge.ts";

/**
 * To go back needs more proof than to go forward, since a probation is short. Simulated over 36 to 48 steps, of two models
 * equally good the older one was ahead by 2 % in up to two cases of five, by a tenth in one of seven at most; one that
 * was worse by a quarter or more was found out in four of five at least.
 */
const leastMargin = 0.1;

export interface ProbationCase {
  readonly model: ForecastNetModel;
  /** What it replaced; null when that was seasonal-naive. */
  readonly predecessor: ForecastNetModel | null;
  readonly histories: readonly History[];
  /** Time of the promotion: both are judged on what came later. */
  readonly afterMs: number;
  /** `tailSteps` are the steps of the probation. */
  readonly rules: GateRules;
}

export interface ProbationFinding {
  readonly isWorse: boolean;
  readonly reason: string;
  readonly numbers: Readonly<Record<string, number>>;
}

export async function provesWorse(engine: Engine, request: ProbationCase): Promise<ProbationFinding> {
  const { predecessor, rules } = request;
  const [own, before] = await judgeBoth(engine, request);
  const margin = Math.max(rules.margin, leastMargin);
  const numbers = { ...scoresOf("model", own), ...scoresOf("predecessor", before), margin };
  const steps = stepsJudged([own, before]);
  const needed = neededSteps(rules);
  const name = predecessor === null ? "seasonal-naive" : "its predecessor";
  if (steps < needed) return { isWorse: false, reason: tooFew(steps, needed), numbers };
  const isWorse = beats(before, own, margin);
  return { isWorse, reason: reasonOf(own, before, name, isWorse), numbers };
}

async function judgeBoth(engine: Engine, request: ProbationCase): Promise<readonly Judgement[]> {
  const { model, predecessor, histories, afterMs, rules } = request;
  const { horizon, season } = rules;
  try {
    return await judge(engine, [model, predecessor ?? "seasonal-naive"], histories, {
      ...{ afterMs, horizon, season },
    });
  } finally {
    // The model serves and stays with the engine; its predecessor was read for this.
    if (predecessor !== null) engine.release(predecessor);
  }
}

function reasonOf(own: Judgement, before: Judgement, name: string, isWorse: boolean): string {
  if (own.fitness === "unfit") return `it is unfit: ${own.reason}`;
  if (before.fitness === "unfit") return `${name} is unfit: ${before.reason}`;
  const ratio = togetherRatio(own, before);
  if (isWorse) return `worse than ${name}${Number.isFinite(ratio) ? ` by ${percent(ratio - 1)}` : ""}`;
  if (ratio <= 1) return `better than ${name} by ${percent(1 - ratio)}`;
  return `worse than ${name} by ${percent(ratio - 1)}, which proves nothing`;
}

function scoresOf(name: string, judgement: Judgement): Record<string, number> {
  if (judgement.fitness === "unfit" || judgement.points === 0) return {};
  const { mase, crps, points, steps } = judgement;
  return { [`${name}Mase`]: mase, [`${name}Crps`]: crps, points, steps };
}
