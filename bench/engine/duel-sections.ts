// The sections of the report on executors: rates, ratios of ours to the others, differences, and the share of the peak.

import { decimals, median, type Section, spread, whole } from "../rig/report.ts";
import { operationsOf } from "./arithmetic.ts";
import type { Bar } from "./bars.ts";
import { titles } from "./contestants.ts";
import { type ContestantResult, tolerance } from "./duel.ts";
import { comparedSteps, type Work } from "./protocol.ts";

/** A work and the result of every contestant. */
export interface Duel {
  readonly work: Work;
  readonly outcomes: readonly ContestantResult[];
}

interface DuelReport {
  readonly duels: readonly Duel[];
  /** Reasons of those that could not take part, by the title of their row. */
  readonly absences: ReadonlyMap<string, string>;
  /** Library and version of every contestant. */
  readonly aboutByTitle: ReadonlyMap<string, string>;
  readonly rounds: number;
  readonly isPinned: boolean;
  /** Peak of 128-bit arithmetic on the core in GFLOP/s, measured before each work. */
  readonly peak: readonly number[];
}

/** The tolerance of the golden tests. */
const strictTolerance = 1e-4;

/** The bars that are ratios of ours to a rival. */
const ratioBars: readonly (readonly [work: string, rival: string, atLeast: number])[] = [
  ["FN forecast", titles.published, 15],
  ["FN forecast", titles.stacked, 1.5],
  ["cFN forecast", titles.published, 5],
  ["paper's cFN forecast", titles.published, 5],
  ["FN step, batch 64", titles.published, 8],
  ["FN step, batch 16", titles.published, 20],
  ["cFN step, batch 64", titles.published, 1.5],
  ["cFN step, batch 16", titles.published, 2.5],
];

export function duelSections(report: DuelReport): readonly Section[] {
  return [ratesSection(report), ratiosSection(report), differencesSection(report), arithmeticSection(report)];
}

export function duelBars({ duels }: DuelReport): readonly Bar[] {
  return ratioBars.map(([name, rival, atLeast]) => {
    const outcomes = duels.find(({ work }) => work.name === name)?.outcomes ?? [];
    return { what: `${name}: ours to ${rival}`, values: ratios(outcomes, rival), atLeast };
  });
}

function ratesSection(report: DuelReport): Section {
  const { duels, rounds, isPinned } = report;
  const notes = new Notes();
  const rows = titlesOf(report).map((title) => [
    title,
    ...duels.map(({ outcomes }) => {
      const outcome = outcomes.find((candidate) => candidate.title === title);
      if (outcome === undefined) return notes.add(title, report.absences.get(title) ?? "not available");
      return "notRun" in outcome ? notes.add(title, outcome.notRun) : spread(outcome.perSecond, significant);
    }),
  ]);
  const about = [...new Set(report.aboutByTitle.values())].join("; ");
  return {
    title: "Per second of one core",
    method:
      "ForecastNet with τ 24, 48 inputs, hidden 24. FN has dense cells, cFN has the convolutional cell of the authors' code, and the paper's cFN has kernels of two with average pools. A forecast is " +
      "100 sample paths of one model. A step is forward, loss, backward and Adam of one model on one minibatch. Every model has its own weights " +
      "and data. Every contestant gets the number of concurrent models that makes it fastest. First the results of all contestants were compared with the " +
      `reference (see below). Then they were timed by CPU time, in turns, ${rounds} rounds, each in its own process ` +
      `${isPinned ? "pinned to the same core" : "(not pinned: the system has no taskset)"}, warm, with one thread. A contestant ` +
      `that needs more than about a second per unit was timed once. ${about}.`,
    columns: ["contestant", ...duels.map(({ work }) => work.name)],
    rows,
    ...notes.outcome(),
  };
}

function ratiosSection(report: DuelReport): Section {
  const { duels } = report;
  const others = titlesOf(report).filter((title) => title !== titles.simd);
  return {
    title: "Ours to theirs",
    method: "Speed of the simd executor relative to the contestant, round by round. Above 1, simd is faster.",
    columns: ["contestant", ...duels.map(({ work }) => work.name)],
    rows: others.map((title) => [
      title,
      ...duels.map(({ outcomes }) => {
        const values = ratios(outcomes, title);
        return values.length === 0 ? "–" : spread(values, decimals(2));
      }),
    ]),
  };
}

function differencesSection(report: DuelReport): Section {
  const { duels } = report;
  return {
    title: "Differences from the reference",
    method:
      "The largest difference from plain loops in double precision, relative to their largest value. Forecasts: means and deviations of " +
      `all paths of some models under the same noise. Training: the losses before each of ${comparedSteps} successive steps, which depend on ` +
      `gradients and Adam. Contestants that differ by more than ${tolerance} are not timed.`,
    columns: ["contestant", ...duels.map(({ work }) => work.name)],
    rows: titlesOf(report).map((title) => [
      title,
      ...duels.map(({ outcomes }) => {
        const difference = outcomes.find((outcome) => outcome.title === title)?.difference ?? Number.NaN;
        return Number.isNaN(difference) ? "–" : difference.toExponential(1);
      }),
    ]),
    outcome: strictOutcome(duels),
  };
}

/** Lists results that exceed the tolerance of the golden tests, though not that of the bench. */
function strictOutcome(duels: readonly Duel[]): string {
  const above = duels.flatMap(({ work, outcomes }) =>
    outcomes
      .filter(({ difference }) => difference > strictTolerance)
      .map(({ title, difference }) => `${title}, ${work.name} (${difference.toExponential(2)})`),
  );
  return `Above ${strictTolerance}: ${above.length === 0 ? "none" : above.join("; ")}.`;
}

function arithmeticSection({ duels, peak }: DuelReport): Section {
  return {
    title: "Arithmetic of the simd kernel",
    method:
      "The minimum number of operations for the work. A multiplication and an addition count as two. Work that depends on the window alone counts once " +
      "for all paths. Padded lanes, activations, noise and Adam do not count. The peak is the highest rate that independent 128-bit multiplications " +
      `and additions reach in WebAssembly on the same core: ${spread(peak, decimals(1))} GFLOP/s.`,
    columns: ["work", "MFLOP", "GFLOP/s", "share of the peak"],
    rows: duels.map(({ work, outcomes }) => {
      const ours = ratesOf(outcomes, titles.simd);
      const operations = operationsOf(work);
      const rates = ours.map((perSecond) => (perSecond * operations) / 1e9);
      const shares = rates.map((rate) => (100 * rate) / median(peak));
      if (rates.length === 0) return [work.name, decimals(1)(operations / 1e6), "not run", ""];
      return [
        work.name,
        decimals(1)(operations / 1e6),
        spread(rates, decimals(1)),
        `${spread(shares, decimals(0))} %`,
      ];
    }),
  };
}

function titlesOf({ duels, absences }: DuelReport): readonly string[] {
  const present = new Set([
    ...duels.flatMap(({ outcomes }) => outcomes.map(({ title }) => title)),
    ...absences.keys(),
  ]);
  return Object.values(titles).filter((title) => present.has(title));
}

function ratesOf(outcomes: readonly ContestantResult[], title: string): readonly number[] {
  const outcome = outcomes.find((candidate) => candidate.title === title);
  return outcome !== undefined && "perSecond" in outcome ? outcome.perSecond : [];
}

function ratios(outcomes: readonly ContestantResult[], rival: string): readonly number[] {
  const theirs = ratesOf(outcomes, rival);
  const ours = ratesOf(outcomes, titles.simd);
  return ours.length === 0 ? [] : theirs.map((rate, round) => ours[round] / rate);
}

/** Reasons for empty cells, listed once below the table. */
class Notes {
  readonly #numberByReason = new Map<string, number>();

  add(title: string, reason: string): string {
    const text = `${title}: ${reason}`;
    const number = this.#numberByReason.get(text) ?? this.#numberByReason.size + 1;
    this.#numberByReason.set(text, number);
    return `not run (${number})`;
  }

  outcome(): Pick<Section, "outcome"> {
    if (this.#numberByReason.size === 0) return {};
    const lines = [...this.#numberByReason].map(([text, number]) => `(${number}) ${text}.`);
    return { outcome: `Not run: ${lines.join(" ")}` };
  }
}

function significant(value: number): string {
  return value >= 100 ? whole(value) : value.toPrecision(3);
}
