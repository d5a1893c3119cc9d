// What the gate makes of a recipe: a model that loses to seasonal-naive on the test part should have been refused. The model
// is trained without the last three horizons of the past, and judged on them and on the folds of its training against
// seasonal-naive, as a worker does.

import { passGate } from "../../src/gate/gate.ts";
import type { Families } from "../../src/models/families.ts";
import type { Section } from "../rig/report.ts";
import { type Recipe, trainOn } from "./forecasters.ts";
import type { Past, Score } from "./protocol.ts";
import type { SampleSeries } from "./sample-series.ts";

const hourMs = 3_600_000;
const margin = 0.02;

export interface GateCheck {
  readonly recipe: string;
  readonly series: string;
  readonly isRefused: boolean;
  /** MASE and CRPS of the judged model on the test part, taken together, over those of seasonal-naive. */
  readonly toNaive: number;
}

export async function checkGate(
  families: Families,
  { past, recipe, series }: { readonly past: Past; readonly recipe: Recipe; readonly series: SampleSeries },
  scoreOf: (model: Parameters<Families["of"]>[0]) => Promise<Score>,
): Promise<GateCheck | null> {
  const { name, season, horizon } = series;
  const tailSteps = Math.min(3 * horizon, Math.floor(past.values.length / 4));
  const trainedSteps = past.values.length - tailSteps;
  const found = await trainOn(
    families,
    { ...past, values: past.values.slice(0, trainedSteps) },
    recipe,
    series,
  );
  if (found === null) return null;
  const baseline = families.baselineFor(name, { horizon, season, channels: 1 });
  const trained = {
    model: found.model,
    storage: "float16",
    basis: "whole",
    folds: found.folds,
    naiveErrors: [1],
    trainedFromMs: 0,
    trainedToMs: (past.firstStep + trainedSteps - 1) * hourMs,
  } as const;
  const history = {
    seriesId: name,
    interval: "PT1H",
    firstTimeMs: past.firstStep * hourMs,
    channels: 1,
    values: past.values,
    filled: null,
  };
  const verdict = await passGate(families, {
    challengers: [trained],
    champion: null,
    baseline,
    histories: [history],
    countsFolds: true,
    rules: { margin, tailSteps, season, horizon },
  });
  const [own, naive] = [await scoreOf(found.model), await scoreOf(baseline)];
  const toNaive = Math.sqrt((own.mase * own.crps) / (naive.mase * naive.crps));
  return { recipe: recipe.name, series: name, isRefused: verdict.outcome === "refused", toNaive };
}

export function gateSection(checks: readonly GateCheck[], recipes: readonly Recipe[]): Section {
  const rows = recipes.map(({ name }) => {
    const own = checks.filter(({ recipe }) => recipe === name);
    const worse = own.filter(({ toNaive }) => toNaive > 1);
    const refused = own.filter(({ isRefused }) => isRefused);
    return [
      name,
      String(own.length),
      String(worse.length),
      worse
        .filter(({ isRefused }) => !isRefused)
        .map(naming)
        .join(", ") || "none",
      refused
        .filter(({ toNaive }) => toNaive <= 1)
        .map(naming)
        .join(", ") || "none",
    ];
  });
  return {
    title: "What the gate catches",
    method:
      "The same models, with the default history, trained without the last 3τ steps before the test part and judged on those and the folds of the training against seasonal-naive, as a worker " +
      "does before a model may serve. In brackets: MASE and CRPS on the test part, taken together, over those of seasonal-naive.",
    columns: [
      "model",
      "series",
      "worse than seasonal-naive on the test part",
      "of those, promoted",
      "better, but refused",
    ],
    rows,
  };
}

function naming({ series, toNaive }: GateCheck): string {
  return `${series} (${toNaive.toFixed(2)})`;
}
