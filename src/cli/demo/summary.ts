// Accounts for every observation of the demo: what was sent, what the worker counted and what was read back. Prints the
// last lines of the demo from that.

import type { Logger } from "../../runtime/logging.ts";
import type { Metrics } from "../../runtime/metric-groups.ts";
import type { ForecastBoard } from "./forecast-board.ts";
import type { NewsFeed } from "./news.ts";
import { clockText, count, percent } from "./number-text.ts";
import type { ScenarioStepKind, WearScenario } from "./wear-scenario.ts";

export interface Sent {
  observations: number;
  malformed: number;
}

/** What the worker has counted. */
export interface Tally {
  readonly observationsByOutcome: Map<string, number>;
  readonly deadLettersByReason: Map<string, number>;
  forecasts: number;
}

export interface DemoResult {
  readonly seconds: number;
  readonly sent: Sent;
  readonly tally: Tally;
  /** Read from the dead-letter topic. */
  readonly deadLetters: number;
  readonly board: Pick<ForecastBoard, "forecasts" | "repeated" | "coverage" | "size" | "modelled">;
  readonly news: Pick<NewsFeed, "countOf">;
  readonly scenario: Pick<WearScenario, "seriesId" | "steps">;
}

export function createTally(): Tally {
  return { observationsByOutcome: new Map(), deadLettersByReason: new Map(), forecasts: 0 };
}

/** The worker's metrics, which also count into the tally. */
export function tallied(metrics: Metrics, tally: Tally): Metrics {
  const { source, window, forecast } = metrics;
  return {
    ...metrics,
    source: {
      ...source,
      deadLetter: (reason) => {
        add(tally.deadLettersByReason, reason, 1);
        source.deadLetter(reason);
      },
    },
    window: {
      ...window,
      observations: (outcome, count) => {
        add(tally.observationsByOutcome, outcome, count);
        window.observations(outcome, count);
      },
    },
    forecast: {
      ...forecast,
      forecasts: (tier, method, count) => {
        tally.forecasts += count;
        forecast.forecasts(tier, method, count);
      },
    },
  };
}

/** A logger that passes on warnings and errors as text. It drops the rest: decisions come from their topic. */
export function newsLogger(report: (text: string) => void): Logger {
  const warn = (facts: Readonly<Record<string, unknown>>, message: string) => {
    const details = Object.entries(facts).map(([name, value]) => `${name} ${String(value)}`);
    report(details.length === 0 ? message : `${message}: ${details.join(", ")}`);
  };
  return { debug: () => {}, info: () => {}, warn, error: warn };
}

/** True once every sent record has been counted and every forecast has been read back. */
export function isSettled({ sent, tally, deadLetters, board }: DemoResult): boolean {
  return (
    total(tally.observationsByOutcome) === sent.observations &&
    deadLetters === sent.malformed &&
    board.forecasts === tally.forecasts
  );
}

export function summaryLines(result: DemoResult): readonly string[] {
  const { seconds, sent, tally, deadLetters, board } = result;
  const counted = total(tally.observationsByOutcome);
  const { inside, scored } = board.coverage;
  return [
    `stopped after ${seconds} s`,
    `  ${count(sent.observations)} observations sent, ${count(counted)} counted: ${balanceText(sent.observations - counted)}`,
    `      ${list(tally.observationsByOutcome)}`,
    `  ${count(sent.malformed)} malformed records sent, ${count(deadLetters)} dead letters written`,
    `      ${list(tally.deadLettersByReason)}`,
    `  ${count(tally.forecasts)} forecasts made, ${count(board.forecasts)} read back, ${count(board.repeated)} of them twice`,
    `  ${percent(inside, scored)} of ${count(scored)} next observations fell inside the 80 % interval`,
    ...modelLines(result),
    ...scenarioLines(result),
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

function modelLines({ board, news }: DemoResult): readonly string[] {
  const requested = news.countOf("REQUESTED");
  if (requested === 0) return ["  no training has started yet; in a longer run models take over"];
  const counts = new Map(decisions.map(([kind, words]) => [words, news.countOf(kind)]));
  const happened = new Map([...counts].filter(([, times]) => times > 0));
  return [
    `  ${count(board.modelled)} of ${count(board.size)} series forecast by a model at the end; trainings: ${count(requested)}`,
    `      ${list(happened)}`,
  ];
}

const wordsByStep: Readonly<Record<Exclude<ScenarioStepKind, "training">, string>> = {
  worn: "worn out",
  stale: "found stale",
  promoted: "new model",
  recovered: "recovered",
};

function scenarioLines({ scenario: { seriesId, steps } }: DemoResult): readonly string[] {
  if (steps.length === 0) {
    return [`  in a longer run ${seriesId} wears out and gets a new model`];
  }
  const moments = steps.flatMap(({ kind, seconds }) =>
    kind === "training" ? [] : [`${wordsByStep[kind]} ${clockText(seconds)}`],
  );
  return [`  ${seriesId} wore out during the demo:`, `      ${moments.join(", ")}`];
}

function balanceText(missing: number): string {
  if (missing === 0) return "every observation was counted once";
  return missing > 0 ? `${count(missing)} not counted yet` : `${count(-missing)} too many`;
}

function list(countByName: ReadonlyMap<string, number>): string {
  const parts = [...countByName].map(([name, times]) => `${count(times)} ${name}`);
  return parts.length === 0 ? "none" : parts.join(", ");
}

export function total(countByName: ReadonlyMap<string, number>): number {
  return [...countByName.values()].reduce((sum, count) => sum + count, 0);
}

function add(countByName: Map<string, number>, name: string, count: number): void {
  countByName.set(name, (countByName.get(name) ?? 0) + count);
}
