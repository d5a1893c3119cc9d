// The gate: which challenger, if any, takes the champion's place. All are judged on what none of them has seen. A
// challenger must beat the champion and seasonal-naive, each by the margin; the numbers that decided go with the verdict.

import type { Engine } from "../../engine/engine.ts";
import type { ForecastNetModel } from "../../models/forecastnet/model.ts";
import type { History, TrainedModel } from "../training-task.ts";
import { beats, isBetter, percent, togetherRatio } from "./compare.ts";
import { type Judgement, judge, type Scores } from "./judge.ts";

export interface GateRules {
  /** By what share one must be better than another to count as better. */
  readonly margin: number;
  /** Steps that were kept for judging; half of them must have been observed. */
  readonly tailSteps: number;
  readonly season: number;
  readonly horizon: number;
}

export interface Champion {
  readonly model: ForecastNetModel;
  /** Time of the newest slot that it learnt from. */
  readonly trainedToMs: number;
}

export interface GateCase {
  readonly challengers: readonly TrainedModel[];
  /** Null when no model serves. */
  readonly champion: Champion | null;
  /** Of the series, or of all members of a cohort. */
  readonly histories: readonly History[];
  readonly rules: GateRules;
}

interface Explained {
  /** In words for a person. */
  readonly reason: string;
  /** Flat names and finite values. Who was not judged has none. */
  readonly numbers: Readonly<Record<string, number>>;
}

export type Verdict = Explained &
  (
    | { readonly outcome: "promoted"; readonly challenger: TrainedModel }
    | {
        readonly outcome: "refused";
        /** The one that came closest; null when there was none. */
        readonly challenger: TrainedModel | null;
        /** Seasonal-naive beats the champion as well: the series is better off without a model. */
        readonly retire: boolean;
      }
  );

/** Everyone's judgement; a challenger with its model. */
interface Field {
  readonly challengers: readonly { readonly trained: TrainedModel; readonly judgement: Judgement }[];
  readonly champion: Judgement | null;
  readonly naive: Judgement;
}

export async function passGate(engine: Engine, request: GateCase): Promise<Verdict> {
  const { challengers, champion, rules } = request;
  if (challengers.length === 0) return refusal("there is no challenger", {}, null);
  const field = await judgeField(engine, request);
  const judged = [...field.challengers].sort((one, other) => byScores(one.judgement, other.judgement));
  const rivals = champion === null ? [field.naive] : [field.champion as Judgement, field.naive];
  const winner = judged.find(({ judgement }) =>
    rivals.every((rival) => beats(judgement, rival, rules.margin)),
  );
  const { trained, judgement } = winner ?? judged[0];
  const numbers = numbersOf(field, judgement, rules.margin);
  const needed = neededSteps(rules);
  const steps = stepsJudged([judgement, ...rivals]);
  if (judgement.fitness === "unfit") {
    return refusal(
      `challenger is unfit: ${judgement.reason}`,
      numbers,
      trained,
      retires(field, rules, steps),
    );
  }
  if (steps < needed) return refusal(tooFew(steps, needed), numbers, trained);
  if (winner !== undefined) {
    return { outcome: "promoted", challenger: trained, reason: praise(judgement, field), numbers };
  }
  return refusal(blame(judgement, field, rules.margin), numbers, trained, retires(field, rules, steps));
}

/** Steps that must have been observed for a judgement to mean something. */
export function neededSteps({ tailSteps }: GateRules): number {
  return Math.ceil(tailSteps / 2);
}

export function tooFew(steps: number, needed: number): string {
  return `too few steps to judge on: ${steps}, needed ${needed}`;
}

/** All were judged on the same. */
export function stepsJudged(judgements: readonly Judgement[]): number {
  return Math.max(0, ...judgements.map((one) => (one.fitness === "fit" ? one.steps : 0)));
}

async function judgeField(engine: Engine, request: GateCase): Promise<Field> {
  const { challengers, champion, histories, rules } = request;
  const trainedTo = challengers.map(({ trainedToMs }) => trainedToMs);
  const afterMs = Math.max(...trainedTo, ...(champion === null ? [] : [champion.trainedToMs]));
  const models = challengers.map(({ model }) => model);
  const others = champion === null ? [] : [champion.model];
  try {
    const judgements = await judge(engine, [...models, ...others, "seasonal-naive"], histories, {
      ...{ afterMs, horizon: rules.horizon, season: rules.season },
    });
    return {
      challengers: challengers.map((trained, i) => ({ trained, judgement: judgements[i] })),
      champion: champion === null ? null : judgements[challengers.length],
      naive: judgements[judgements.length - 1],
    };
  } finally {
    // One that is promoted is read from its record again; the engine need not keep these.
    for (const model of models) engine.release(model);
  }
}

/** The better first, the unfit last. */
function byScores(one: Judgement, other: Judgement): number {
  if (one.fitness === "unfit" || other.fitness === "unfit") {
    return Number(one.fitness === "unfit") - Number(other.fitness === "unfit");
  }
  return one.mase * one.crps - other.mase * other.crps;
}

function retires({ naive, champion, challengers }: Field, rules: GateRules, steps: number): boolean {
  const field = [champion, ...challengers.map(({ judgement }) => judgement)];
  // Where seasonal-naive makes no error at all a sensor is stuck: that is no reason to forget what it does when it is not.
  const hasMoved = naive.fitness === "fit" && naive.mase > 0;
  return (
    hasMoved &&
    steps >= neededSteps(rules) &&
    field.every((one) => one !== null && beats(naive, one, rules.margin))
  );
}

function refusal(
  reason: string,
  numbers: Verdict["numbers"],
  challenger: TrainedModel | null,
  retire = false,
): Verdict {
  return { outcome: "refused", challenger, retire, reason, numbers };
}

function praise(winner: Scores, { champion, naive }: Field): string {
  const parts = [
    ...(champion?.fitness === "fit" ? [`the champion by ${lead(winner, champion)}`] : []),
    ...(champion?.fitness === "unfit" ? [`the champion, which is unfit: ${champion.reason}`] : []),
    ...(naive.fitness === "fit" ? [`seasonal-naive by ${lead(winner, naive)}`] : []),
  ];
  return parts.length === 0 ? "nobody else could forecast" : `better than ${parts.join(" and ")}`;
}

function lead(winner: Scores, other: Scores): string {
  return percent(1 - togetherRatio(winner, other));
}

/** Why the best challenger is not good enough. */
function blame(best: Scores, { champion, naive }: Field, margin: number): string {
  const isAhead = (rival: Judgement | null): rival is Scores =>
    rival?.fitness === "fit" && togetherRatio(rival, best) < 1;
  if (isAhead(champion) && !(isAhead(naive) && togetherRatio(naive, champion) < 1)) {
    return "the champion is better";
  }
  if (isAhead(naive)) return "seasonal-naive is best";
  const rival = champion?.fitness === "fit" && !isBetter(best, champion, margin) ? champion : naive;
  const name = rival === champion ? "the champion" : "seasonal-naive";
  const together = rival.fitness === "fit" ? togetherRatio(best, rival) : 1;
  // One that is better by both together fails only by one of them.
  return together < 1 && together <= 1 - margin
    ? `worse than ${name} in one of MASE and CRPS by more than the margin of ${percent(margin)}`
    : `not better than ${name} by the margin of ${percent(margin)}`;
}

function numbersOf(field: Field, challenger: Judgement, margin: number): Record<string, number> {
  const numbers: Record<string, number> = { margin };
  const parties = { challenger, champion: field.champion, naive: field.naive };
  for (const [name, judgement] of Object.entries(parties)) {
    if (judgement?.fitness !== "fit" || judgement.points === 0) continue;
    numbers[`${name}Mase`] = judgement.mase;
    numbers[`${name}Crps`] = judgement.crps;
  }
  const scored = [challenger, field.naive].find((one) => one.fitness === "fit");
  if (scored?.fitness === "fit") Object.assign(numbers, { points: scored.points, steps: scored.steps });
  return numbers;
}
