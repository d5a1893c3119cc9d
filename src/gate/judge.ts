// Scores models on the same held-out targets of the same histories. A model that cannot forecast there is unfit. Errors are in
// units of each history's naive error, so that all histories count alike.
//
// The held-out part of a history (`createHoldout`): origins whose targets no model was trained on, and the targets that count.
// It depends on the history and on the longest window of the models, not on their forecasts, so all models have the same
// targets.

import type { Bounds, History } from "../domain.ts";
import { seasonalErrorSteps } from "../models/error-sample.ts";
import type { Families } from "../models/families.ts";
import type { Distribution, Model, ModelShape } from "../models/family.ts";
import { firstStepOf, slotTimesOf } from "../models/interval.ts";
import { seasonalErrorsBefore } from "../models/score-on-folds.ts";
import { naiveErrorOf, ScoreSheet, scoreLevels } from "../models/scores.ts";

export interface Scores {
  readonly fitness: "fit";
  /** Mean absolute error and CRPS in units of the naive error; 0 when there was nothing to score. */
  readonly mase: number;
  readonly crps: number;
  /** Share of targets inside the 80 % interval. */
  readonly coverage80: number;
  /** Forecast values that were compared with observations. */
  readonly points: number;
  /** Distinct observed steps among the targets. Forecasts overlap, so this is the amount of evidence. */
  readonly steps: number;
}

export type Judgement = Scores | { readonly fitness: "unfit"; readonly reason: string };

/** Per history. Targets overlap, so more would add little. */
const originsPerHistory = 60;
/** Of all histories of a cohort together, and at least of each. */
const originsInAll = 3000;
const fewestOrigins = 4;
/** Forecasts of the fleet use the same engine, and must not wait for all origins. */
const originsAtOnce = 8;
/** As many as serve by default. */
const pathsJudged = 100;

interface JudgedSpan extends HoldoutSpan {
  /** The model among those that is scored whatever its shape, because it can serve any series; null for none. */
  readonly baseline: Model | null;
}

/** One judgement per model, in their order. Rejects only when the engine is broken. */
export async function judgeModels(
  families: Families,
  models: readonly Model[],
  histories: readonly History[],
  span: JudgedSpan,
): Promise<readonly Judgement[]> {
  const shapes = models.map((model) => families.of(model).shapeOf(model));
  const problems = shapes.map((shape, i) =>
    models[i] === span.baseline ? null : shapeProblem(shape, histories, span),
  );
  const reach = {
    longest: Math.max(0, ...shapes.map(({ inputSteps }, i) => (problems[i] === null ? inputSteps : 0))),
    origins: Math.min(
      originsPerHistory,
      Math.max(fewestOrigins, Math.floor(originsInAll / histories.length)),
    ),
  };
  const holdouts = histories.map((history) => createHoldout(history, span, reach));
  const judgements: Judgement[] = [];
  for (const [i, model] of models.entries()) {
    const reason = problems[i];
    judgements.push(
      reason === null ? await judgeOne(families, model, holdouts, span) : { fitness: "unfit", reason },
    );
  }
  return judgements;
}

/** Why the model cannot forecast these histories; null when it can. */
function shapeProblem(
  { horizon, channels, targets, inputSteps }: ModelShape,
  histories: readonly History[],
  span: HoldoutSpan,
): string | null {
  if (histories.length === 0) return null;
  const longest = Math.max(...histories.map(stepsOf));
  if (horizon !== span.horizon) return `it forecasts ${horizon} steps instead of ${span.horizon}`;
  if (histories.some((history) => history.channels !== channels || history.channels !== targets.length)) {
    const found = `${histories[0].channels} channels`;
    return `it forecasts ${targets.length} of ${channels} channels, the series has ${found}`;
  }
  return inputSteps < longest ? null : `it needs ${inputSteps} steps, and the history has ${longest}`;
}

async function judgeOne(
  families: Families,
  model: Model,
  holdouts: readonly Holdout[],
  span: HoldoutSpan,
): Promise<Judgement> {
  const sheet = new ScoreSheet(scoreLevels);
  let steps = 0;
  // One history at a time, so that forecasts of the fleet do not wait for all.
  for (const holdout of holdouts) {
    const forecasts = await forecastHoldout(families, model, holdout, span);
    if (typeof forecasts === "string") return { fitness: "unfit", reason: forecasts };
    if (!score(sheet, holdout, forecasts, span.horizon)) {
      return { fitness: "unfit", reason: "its forecast has a value that is not finite" };
    }
    steps += holdout.steps;
  }
  if (sheet.steps === 0) return { fitness: "fit", mase: 0, crps: 0, coverage80: 0, points: 0, steps };
  const [mase, crps] = [sheet.mase(1), sheet.crps(1)];
  if (!Number.isFinite(mase + crps))
    return { fitness: "unfit", reason: "its errors are too large to add up" };
  return { fitness: "fit", mase, crps, coverage80: sheet.coverage80, points: sheet.steps, steps };
}

/** A forecast per origin, or as text why there is none. */
async function forecastHoldout(
  families: Families,
  model: Model,
  { history, origins }: Holdout,
  { horizon, season, bounds }: HoldoutSpan,
): Promise<readonly Distribution[] | string> {
  const { values, channels } = history;
  const firstStep = firstStepOf(history);
  const { inputSteps } = families.of(model).shapeOf(model);
  const forecasts: Distribution[] = [];
  for (let from = 0; from < origins.length; from += originsAtOnce) {
    const tasks = origins.slice(from, from + originsAtOnce).map((origin) => ({
      model,
      input: {
        values: values.slice((origin - inputSteps) * channels, origin * channels),
        channels,
        originStep: firstStep + origin - 1,
        settings: bounds === undefined ? { horizon, season } : { horizon, season, bounds },
        seasonalErrors: seasonalErrorsBefore(history, { origin, season, channels, levels: scoreLevels }),
      },
    }));
    for (const answer of await families.forecast(tasks, { paths: pathsJudged, levels: scoreLevels })) {
      if (answer instanceof Error) return answer.message;
      forecasts.push(answer);
    }
  }
  return forecasts;
}

/** False when a quantile of a scored target is not finite. */
function score(
  sheet: ScoreSheet,
  { history, origins, observed, units }: Holdout,
  forecasts: readonly Distribution[],
  horizon: number,
): boolean {
  const { values, channels } = history;
  const scaled = new Float64Array(scoreLevels.length);
  for (const [i, origin] of origins.entries()) {
    const ahead = Math.min(horizon, observed.length - origin);
    for (let h = 0; h < ahead; h++) {
      if (observed[origin + h] === 0) continue;
      for (let c = 0; c < channels; c++) {
        for (let l = 0; l < scaled.length; l++)
          scaled[l] = forecasts[i].quantiles[l][c * horizon + h] / units[c];
        if (!scaled.every((quantile) => Number.isFinite(quantile))) return false;
        sheet.add(values[(origin + h) * channels + c] / units[c], scaled);
      }
    }
  }
  return true;
}

/** Targets later than `afterMs`, to the end of the history. */
interface HoldoutSpan {
  readonly afterMs: number;
  readonly horizon: number;
  readonly season: number;
  readonly bounds?: Bounds | undefined;
}

interface Holdout {
  readonly history: History;
  /** Steps of first targets, with windows without a gap before them. */
  readonly origins: readonly number[];
  /** One byte per step: 1 where it was observed and counts as a target. */
  readonly observed: Uint8Array;
  /** Distinct steps among the targets. */
  readonly steps: number;
  /** Per channel: the naive error, the unit of forecast errors. */
  readonly units: readonly number[];
}

interface HoldoutReach {
  /** Steps of the longest window of any model. */
  readonly longest: number;
  /** Most origins. */
  readonly origins: number;
}

export function createHoldout(history: History, span: HoldoutSpan, reach: HoldoutReach): Holdout {
  const { horizon, season } = span;
  const steps = stepsOf(history);
  const first = firstStepAfter(history, span.afterMs);
  const { observed, unbroken } = readSlots(history);
  const needed = Math.max(reach.longest, 2 * season);
  const possible: number[] = [];
  for (let origin = Math.max(first, needed); origin < steps; origin++) {
    const hasTarget = observed.subarray(origin, origin + horizon).includes(1);
    if (hasTarget && unbroken[origin - 1] >= needed && hasSeasonalError(observed, origin, season)) {
      possible.push(origin);
    }
  }
  const origins = spreadEvenly(possible, reach.origins);
  return {
    history,
    origins,
    observed,
    steps: countTargets(origins, observed, horizon),
    units: unitsOf(history, first),
  };
}

function stepsOf({ values, channels }: History): number {
  return values.length / channels;
}

function hasSeasonalError(observed: Uint8Array, origin: number, season: number): boolean {
  const oldest = Math.max(season, origin - seasonalErrorSteps(season));
  for (let step = origin - 1; step >= oldest; step--) {
    if (observed[step] === 1 && observed[step - season] === 1) return true;
  }
  return false;
}

/** Which slots were observed, and the length of the run without a gap that ends at each. */
function readSlots(history: History): { observed: Uint8Array; unbroken: Int32Array } {
  const { values, channels, filled } = history;
  const steps = stepsOf(history);
  const observed = new Uint8Array(steps);
  const unbroken = new Int32Array(steps);
  for (let step = 0; step < steps; step++) {
    const slot = values.subarray(step * channels, (step + 1) * channels);
    if (!slot.every((value) => Number.isFinite(value))) continue;
    observed[step] = filled?.[step] === 1 ? 0 : 1;
    unbroken[step] = 1 + (step === 0 ? 0 : unbroken[step - 1]);
  }
  return { observed, unbroken };
}

/**
 * Slot times are approximate on a shifted calendar grid (`slotTimesOf`), and two days early in some records of earlier
 * releases. `afterMs` is the time of a slot, so the next slot is a whole step later, and half a step decides safely.
 */
export function firstStepAfter(history: History, afterMs: number): number {
  const timeOf = slotTimesOf(history);
  const isLater = (step: number) => timeOf(step) - afterMs > (timeOf(step) - timeOf(step - 1)) / 2;
  let first = stepsOf(history);
  while (first > 0 && isLater(first - 1)) first--;
  return first;
}

function spreadEvenly(steps: readonly number[], most: number): readonly number[] {
  if (steps.length <= most) return steps;
  return Array.from({ length: most }, (_, i) => steps[Math.floor(((i + 0.5) * steps.length) / most)]);
}

function countTargets(origins: readonly number[], observed: Uint8Array, horizon: number): number {
  let count = 0;
  let counted = 0;
  for (const origin of origins) {
    const end = Math.min(origin + horizon, observed.length);
    for (let step = Math.max(origin, counted); step < end; step++) count += observed[step];
    counted = end;
  }
  return count;
}

/** The one-step naive error before the span, or of the whole history when there is none before. */
function unitsOf(history: History, first: number): readonly number[] {
  const { values, channels } = history;
  return Array.from({ length: channels }, (_, channel) => {
    const own = values.filter((_, i) => i % channels === channel);
    // A flat series has the unit 1.
    return naiveErrorOf(own, 0, first) ?? naiveErrorOf(own, 0, own.length) ?? 1;
  });
}
