// How good forecasters are on the same targets of the same histories. A contestant that cannot forecast there is unfit,
// whatever it did elsewhere. Every history counts in units of its own naive error, so that no loud one decides alone.

import type { Engine } from "../../engine/engine.ts";
import { type ForecastNetModel, inputLengthOf } from "../../models/forecastnet/model.ts";
import { ScoreSheet, scoreLevels } from "../../models/scores.ts";
import type { History } from "../training-task.ts";
import { type ProvingGround, provingGround, type Span, stepsOf } from "./proving-ground.ts";
import { forecastSeasonalRival } from "./seasonal-rival.ts";

export type Contestant = ForecastNetModel | "seasonal-naive";

export interface Scores {
  readonly fitness: "fit";
  /** Mean absolute error and CRPS over the naive error; 0 when there was nothing to judge on. */
  readonly mase: number;
  readonly crps: number;
  /** Share of targets inside the 80 % interval. */
  readonly coverage80: number;
  /** Forecast values that were compared with what came. */
  readonly points: number;
  /** Observed steps among their targets: what the points are worth, since forecasts overlap. */
  readonly steps: number;
}

export type Judgement = Scores | { readonly fitness: "unfit"; readonly reason: string };

/** Of a history; more would not tell more, since their targets overlap. */
const originsPerHistory = 60;
/** Of all histories of a cohort together, and of each at least. */
const originsInAll = 3000;
const fewestOrigins = 4;
/** The engine serves forecasts first come, first served: those of the fleet must not wait for a whole judgement. */
const originsAtOnce = 8;
/** As many as serve by default. */
const pathsJudged = 100;

/** One judgement per contestant, in their order. Rejects only when the engine itself is broken. */
export async function judge(
  engine: Engine,
  contestants: readonly Contestant[],
  histories: readonly History[],
  span: Span,
): Promise<readonly Judgement[]> {
  const problems = contestants.map((contestant) => shapeProblem(contestant, histories, span));
  const models = contestants.filter((one, i) => one !== "seasonal-naive" && problems[i] === null);
  const reach = {
    longest: Math.max(0, ...models.map((model) => inputLengthOf(model as ForecastNetModel))),
    origins: Math.min(
      originsPerHistory,
      Math.max(fewestOrigins, Math.floor(originsInAll / histories.length)),
    ),
  };
  const grounds = histories.map((history) => provingGround(history, span, reach));
  const judgements: Judgement[] = [];
  for (const [i, contestant] of contestants.entries()) {
    const problem = problems[i];
    judgements.push(
      problem === null
        ? await judgeOne(engine, contestant, grounds, span)
        : { fitness: "unfit", reason: problem },
    );
  }
  return judgements;
}

/** Why a model cannot be asked at all; null when it can. */
function shapeProblem(contestant: Contestant, histories: readonly History[], span: Span): string | null {
  if (contestant === "seasonal-naive" || histories.length === 0) return null;
  const { spec } = contestant.members[0];
  const needed = inputLengthOf(contestant);
  const longest = Math.max(...histories.map(stepsOf));
  if (spec.horizon !== span.horizon) return `it forecasts ${spec.horizon} steps, ${span.horizon} are wanted`;
  if (histories.some(({ channels }) => channels !== spec.channels || channels !== spec.targets.length)) {
    const found = `${histories[0].channels} channels`;
    return `it forecasts ${spec.targets.length} of ${spec.channels} channels, the series has ${found}`;
  }
  return needed < longest ? null : `it looks back ${needed} steps, the history has ${longest}`;
}

async function judgeOne(
  engine: Engine,
  contestant: Contestant,
  grounds: readonly ProvingGround[],
  span: Span,
): Promise<Judgement> {
  const sheet = new ScoreSheet(scoreLevels);
  let steps = 0;
  // One history after the other, so that forecasts that are waited for need not wait for all of this.
  for (const ground of grounds) {
    const forecasts =
      contestant === "seasonal-naive"
        ? forecastSeasonalRival(ground, span, scoreLevels)
        : await forecastModel(engine, contestant, ground);
    if (typeof forecasts === "string") return { fitness: "unfit", reason: forecasts };
    if (!score(sheet, ground, forecasts, span.horizon)) {
      return { fitness: "unfit", reason: "its forecast holds a value that is not finite" };
    }
    steps += ground.steps;
  }
  if (sheet.steps === 0) return { fitness: "fit", mase: 0, crps: 0, coverage80: 0, points: 0, steps };
  const [mase, crps] = [sheet.mase(1), sheet.crps(1)];
  if (!Number.isFinite(mase + crps)) return { fitness: "unfit", reason: "its errors are beyond all numbers" };
  return { fitness: "fit", mase, crps, coverage80: sheet.coverage80, points: sheet.steps, steps };
}

/** Quantiles at each origin, [origin][level][output], or why there are none. */
async function forecastModel(
  engine: Engine,
  model: ForecastNetModel,
  { history, origins }: ProvingGround,
): Promise<readonly (readonly ArrayLike<number>[])[] | string> {
  if (origins.length === 0) return [];
  const { values, channels } = history;
  const steps = inputLengthOf(model);
  const options = { paths: pathsJudged, levels: scoreLevels, keepPaths: false };
  const forecasts: (readonly ArrayLike<number>[])[] = [];
  for (let from = 0; from < origins.length; from += originsAtOnce) {
    const tasks = origins.slice(from, from + originsAtOnce).map((origin) => ({
      model,
      window: values.slice((origin - steps) * channels, origin * channels),
    }));
    for (const answer of await engine.forecast(tasks, options)) {
      if (answer instanceof Error) return answer.message;
      forecasts.push(answer.quantiles);
    }
  }
  return forecasts;
}

/** False when a value that counts is not a number. */
function score(
  sheet: ScoreSheet,
  { history, origins, observed, units }: ProvingGround,
  forecasts: readonly (readonly ArrayLike<number>[])[],
  horizon: number,
): boolean {
  const { values, channels } = history;
  const scaled = new Float64Array(scoreLevels.length);
  for (const [i, origin] of origins.entries()) {
    const ahead = Math.min(horizon, observed.length - origin);
    for (let h = 0; h < ahead; h++) {
      if (observed[origin + h] === 0) continue;
      for (let c = 0; c < channels; c++) {
        for (let l = 0; l < scaled.length; l++) scaled[l] = forecasts[i][l][c * horizon + h] / units[c];
        if (!scaled.every((quantile) => Number.isFinite(quantile))) return false;
        sheet.add(values[(origin + h) * channels + c] / units[c], scaled);
      }
    }
  }
  return true;
}
