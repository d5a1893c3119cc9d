// The last lines of the demo: what was sent, held against what was counted and what was read back.

import type { ForecastBoard } from "./forecast-board.ts";
import type { Newsroom } from "./newsroom.ts";
import type { ChapterKind, Story } from "./story.ts";
import { type Tally, total } from "./tally.ts";
import { clockText, count, percent } from "./wording.ts";

export interface Sent {
  observations: number;
  malformed: number;
}

export interface Outcome {
  readonly seconds: number;
  readonly sent: Sent;
  readonly tally: Tally;
  /** Read off the dead-letter topic. */
  readonly deadLetters: number;
  readonly board: Pick<ForecastBoard, "forecasts" | "repeated" | "coverage" | "size" | "modelled">;
  readonly newsroom: Pick<Newsroom, "countOf">;
  readonly story: Pick<Story, "seriesId" | "chapters">;
}

/** True once all that was sent has been counted, and all that was written has been read back. */
export function isSettled({ sent, tally, deadLetters, board }: Outcome): boolean {
  return (
    total(tally.observationsByOutcome) === sent.observations &&
    deadLetters === sent.malformed &&
    board.forecasts === tally.forecasts
  );
}

export function closingLines(outcome: Outcome): readonly string[] {
  const { seconds, sent, tally, deadLetters, board } = outcome;
  const counted = total(tally.observationsByOutcome);
  const { inside, scored } = board.coverage;
  return [
    `stopped after ${seconds} s`,
    `  ${count(sent.observations)} observations sent, ${count(counted)} counted: ${verdictOn(sent.observations - counted)}`,
    `      ${list(tally.observationsByOutcome)}`,
    `  ${count(sent.malformed)} malformed records sent, ${count(deadLetters)} dead letters written`,
    `      ${list(tally.deadLettersByReason)}`,
    `  ${count(tally.forecasts)} forecasts made, ${count(board.forecasts)} read back, ${count(board.repeated)} of them twice`,
    `  ${percent(inside, scored)} of ${count(scored)} next observations fell inside the 80 % interval`,
    ...modelLines(outcome),
    ...storyLines(outcome),
  ];
}

const decisions = [
  ["PROMOTED", "promoted"],
  ["REFUSED", "refused"],
  ["CONFIRMED", "confirmed"],
  ["DRIFTED", "found stale"],
  ["RECOVERED", "recovered by themselves"],
  ["ROLLED_BACK", "rolled back"],
  ["RETIRED", "retired"],
  ["FAILED", "failed"],
] as const;

function modelLines({ board, newsroom }: Outcome): readonly string[] {
  const asked = newsroom.countOf("REQUESTED");
  if (asked === 0) return ["  no model was in training yet; a longer run shows models take over"];
  const counts = new Map(decisions.map(([kind, words]) => [words, newsroom.countOf(kind)]));
  const happened = new Map([...counts].filter(([, times]) => times > 0));
  return [
    `  ${count(board.modelled)} of ${count(board.size)} series forecast by a model at the end; trainings: ${count(asked)}`,
    `      ${list(happened)}`,
  ];
}

/** That a training has begun is no news any more when its model is there. */
const wordByChapter: Readonly<Record<ChapterKind, string>> = {
  changed: "worn out",
  noticed: "found stale",
  learning: "",
  learnt: "new model",
  recovered: "recovered",
};

function storyLines({ story: { seriesId, chapters } }: Outcome): readonly string[] {
  if (chapters.length === 0) {
    return [`  a longer run shows ${seriesId} change its nature, and be learnt anew`];
  }
  const moments = chapters
    .filter(({ kind }) => kind !== "learning")
    .map(({ kind, seconds }) => `${wordByChapter[kind]} ${clockText(seconds)}`);
  return [`  ${seriesId} changed its nature:`, `      ${moments.join(", ")}`];
}

function verdictOn(missing: number): string {
  if (missing === 0) return "every observation was counted once";
  return missing > 0 ? `${count(missing)} were still on their way` : `${count(-missing)} too many`;
}

function list(countByName: ReadonlyMap<string, number>): string {
  const parts = [...countByName].map(([name, times]) => `${count(times)} ${name}`);
  return parts.length === 0 ? "none" : parts.join(", ");
}
