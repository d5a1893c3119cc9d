// The last lines of the demo: what was sent, held against what was counted and what was read back.

import type { ForecastBoard } from "./forecast-board.ts";
import { type Tally, total } from "./tally.ts";
import { count, percent } from "./wording.ts";

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
  readonly board: Pick<ForecastBoard, "forecasts" | "repeated" | "coverage">;
}

/** True once all that was sent has been counted, and all that was written has been read back. */
export function isSettled({ sent, tally, deadLetters, board }: Outcome): boolean {
  return (
    total(tally.observationsByOutcome) === sent.observations &&
    deadLetters === sent.malformed &&
    board.forecasts === tally.forecasts
  );
}

export function closingLines({ seconds, sent, tally, deadLetters, board }: Outcome): readonly string[] {
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
  ];
}

function verdictOn(missing: number): string {
  if (missing === 0) return "every observation was counted once";
  return missing > 0 ? `${count(missing)} were still on their way` : `${count(-missing)} too many`;
}

function list(countByName: ReadonlyMap<string, number>): string {
  const parts = [...countByName].map(([name, times]) => `${count(times)} ${name}`);
  return parts.length === 0 ? "none" : parts.join(", ");
}
