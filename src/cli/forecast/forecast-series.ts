// The forecast of one series from its file: a model is trained without the newest part of the past and judged there against
// seasonal-naive, as a worker does. One that passes is trained once more on all of the past, and forecasts. Otherwise the cold
// tier does.

import { coldForecastOf } from "../../forecast/to-forecasts.ts";
import { passGate, type Verdict } from "../../gate/gate.ts";
import { heldBackSteps, type RetrainRules, resolveRetrainRules } from "../../lifecycle/rules.ts";
import { anyFamily, type Families } from "../../models/families.ts";
import type { Distribution, Model } from "../../models/family.ts";
import type { AppConfig } from "../../runtime/config/schema.ts";
import type { ModelTrainer, TrainingTask } from "../../training/training-task.ts";
import type { Series } from "../../window/series.ts";

export interface ForecastParts {
  readonly config: AppConfig;
  readonly families: Families;
  readonly trainer: ModelTrainer;
  /** Whether nets compete with a linear model where the family is "auto". */
  readonly withNets: boolean;
  readonly signal: AbortSignal;
}

/** How the kind of model did on the newest steps, which it had not seen. */
interface HeldOutScores {
  readonly steps: number;
  readonly mase: number;
  readonly naiveMase: number;
}

export interface SeriesForecast {
  readonly seriesId: string;
  readonly interval: string;
  /** Steps. */
  readonly season: number;
  /** Who forecasts: a model family, or a baseline. */
  readonly method: string;
  /** Why no model does; empty where one does. */
  readonly reason: string;
  readonly scores: HeldOutScores | null;
  readonly originMs: number;
  readonly timesMs: readonly number[];
  readonly levels: readonly number[];
  readonly mean: readonly number[];
  /** One array per level. */
  readonly quantiles: readonly (readonly number[])[];
}

/** Null where there are too few observations for any forecast. */
export async function forecastSeries(series: Series, parts: ForecastParts): Promise<SeriesForecast | null> {
  const { config, families } = parts;
  const { levels } = config.output;
  series.reconsiderSeasons();
  const choice = await chooseModel(series, parts);
  const steps = choice.model === null ? 0 : families.of(choice.model).shapeOf(choice.model).inputSteps;
  const window = series.takeWindow(levels, 0, steps);
  const facts = {
    seriesId: series.seriesId,
    interval: window.interval,
    season: series.settings.season,
    scores: choice.scores,
    originMs: window.originMs,
    timesMs: window.stepTimesMs,
    levels,
  };
  const answer = choice.model === null ? null : await ask(choice.model, window, parts);
  if (answer !== null && !(answer instanceof Error)) {
    const { mean, quantiles } = answer;
    const numbers = { mean: Array.from(mean), quantiles: quantiles.map((values) => Array.from(values)) };
    return { ...facts, ...numbers, method: choice.model?.family ?? "", reason: "" };
  }
  const cold = coldForecastOf(window, levels);
  if (cold === null) return null;
  const { mean, quantiles, method } = cold;
  const reason = answer === null ? choice.reason : answer.message;
  return { ...facts, mean, quantiles: quantiles.map(({ values }) => values), method, reason };
}

/** Workers draw fewer for each forecast, because they make thousands. */
const paths = 1_000;

async function ask(
  model: Model,
  window: ReturnType<Series["takeWindow"]>,
  { families, config }: ForecastParts,
): Promise<Distribution | Error> {
  const options = { levels: config.output.levels, paths };
  const [answer] = await families.forecast([{ model, input: window }], options);
  return answer as Distribution | Error;
}

interface Choice {
  readonly model: Model | null;
  /** Why there is none. */
  readonly reason: string;
  readonly scores: HeldOutScores | null;
}

async function chooseModel(series: Series, parts: ForecastParts): Promise<Choice> {
  const { config, families, trainer, signal } = parts;
  const history = series.history();
  const rules = resolveRetrainRules(config.retrain, series.settings);
  const steps = history === null ? 0 : history.values.length;
  if (history === null || steps < rules.minHistory)
    return noModel(`${steps} steps are too few to train on: a model needs ${rules.minHistory}`);
  const task = taskOf(series, rules, parts);
  const judged: TrainingTask = {
    ...task,
    histories: [history],
    plan: { ...task.plan, holdBack: heldBackSteps(rules, steps) },
  };
  const [result] = await trainer.train([judged], signal);
  if (result === undefined || result.outcome === "cancelled") throw new Error("the training was cancelled");
  if (result.outcome === "failed") return noModel(result.reason);
  const { seriesId } = series;
  const verdict = await passGate(families, {
    challengers: result.challengers,
    champion: null,
    baseline: families.baselineFor(seriesId, { ...rules, channels: 1 }),
    histories: [history],
    countsFolds: true,
    rules: { ...rules, tailSteps: judged.plan.holdBack },
  });
  const scores = scoresOf(verdict);
  if (verdict.outcome === "refused") return { ...noModel(verdict.reason), scores };
  const champion = verdict.challenger.model;
  const whole = { ...judged, plan: { ...judged.plan, holdBack: 0 }, champion };
  const [again] = await trainer.train([whole], signal);
  const model = again?.outcome === "trained" ? again.challengers[0]?.model : undefined;
  return { model: model ?? champion, reason: "", scores };
}

function taskOf(
  { seriesId, settings }: Series,
  { bestFamily, firstFamily }: RetrainRules,
  { config, withNets }: ForecastParts,
): Omit<TrainingTask, "histories"> {
  const { effort, members } = config.retrain;
  const { horizon, season, form, family } = settings;
  const chosen = family === anyFamily && !withNets ? firstFamily : bestFamily;
  return {
    // The same file gives the same model.
    id: `${seriesId}/0`,
    modelKey: seriesId,
    reason: "manual",
    requestedAtMs: 0,
    plan: { family: chosen, horizon, season, form, effort, members, holdBack: 0, recentFromMs: null },
  };
}

function noModel(reason: string): Choice {
  return { model: null, reason, scores: null };
}

function scoresOf({ numbers }: Verdict): HeldOutScores | null {
  const { challengerMase, naiveMase, steps } = numbers;
  if (challengerMase === undefined || naiveMase === undefined || steps === undefined) return null;
  return { steps, mase: challengerMase, naiveMase };
}
