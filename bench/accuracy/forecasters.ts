// The forecasters that are compared: models of our families, trained on the past as a worker trains them, stored as it stores
// them, and asked as it asks them.

import { simplestOf } from "../../src/models/ensemble/family.ts";
import type { Families } from "../../src/models/families.ts";
import type { Effort, FamilyPlan, FoldScores, Model } from "../../src/models/family.ts";
import { seasonalErrorsBefore } from "../../src/models/score-on-folds.ts";
import { type FittedForecaster, levels, type Past } from "./protocol.ts";
import type { SampleSeries } from "./sample-series.ts";

/** What a series is trained with. */
export interface Recipe {
  readonly name: string;
  readonly family: string;
  readonly effort: Effort;
  /** Most nets in a model. */
  readonly members: number;
}

/**
 * The recipes of the page, by the names that the configuration has for them: the linear model that a series gets first, and what
 * it gets then with each effort.
 */
export const recipes: readonly Recipe[] = [
  { name: "linear", family: "linear", effort: "normal", members: 4 },
  { name: "quick", family: "ensemble", effort: "quick", members: 4 },
  { name: "normal", family: "ensemble", effort: "normal", members: 4 },
  { name: "thorough", family: "ensemble", effort: "thorough", members: 4 },
];

export interface Trained {
  readonly model: Model;
  readonly bytes: number;
  readonly folds: FoldScores;
}

/** Null where the past is too short: a worker then serves seasonal-naive. */
export async function trainOn(
  families: Families,
  { values, firstStep }: Past,
  { family, effort, members }: Recipe,
  { name, season, horizon }: Pick<SampleSeries, "name" | "season" | "horizon">,
): Promise<Trained | null> {
  const plan: FamilyPlan = { family, horizon, season, form: "auto", effort, members };
  const task = { key: name, plan, channels: 1, series: [{ values, filled: null, firstStep }], seed: 1 };
  const result = await families.named(family).train(task, new AbortController().signal);
  if (result.outcome === "cancelled") throw new Error(`${name}: training was cancelled`);
  if (result.outcome === "failed") {
    process.stderr.write(`${name}: no model, seasonal-naive serves: ${result.reason}\n`);
    return null;
  }
  const model = simplestOf(result.model);
  const bytes = families.of(model).encode({ ...model, version: "bench" }, "float16");
  return {
    model: families.of(model).decode(bytes, name),
    bytes: bytes.length,
    folds: result.folds,
  };
}

/** Asks a model at every origin with what a window would hold there. Its point is the median. */
export function serve(families: Families, model: Model, season: number): FittedForecaster {
  const { horizon, channels, inputSteps } = families.of(model).shapeOf(model);
  const median = (levels.length - 1) / 2;
  return async (values, origins) => {
    const series = { values, filled: null };
    const tasks = origins.map((origin) => ({
      model,
      input: {
        values: values.slice(origin - inputSteps, origin),
        channels,
        originStep: origin - 1,
        settings: { horizon, season },
        seasonalErrors: seasonalErrorsBefore(series, { origin, season, channels, levels }),
      },
    }));
    return (await families.forecast(tasks, { paths: 100, levels })).map((answer) => {
      if (answer instanceof Error) throw answer;
      return { point: answer.quantiles[median], quantiles: answer.quantiles };
    });
  };
}
