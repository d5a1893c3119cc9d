// One work, several contestants: first everyone's results are held against the oracle's, then everyone is timed in
// turns, round after round. Who computes something else, or cannot do the work, is not timed.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ContestantProcess } from "./contestant.ts";
import type { Question, Timing, Work } from "./protocol.ts";

/** One of the rows. */
export interface Contestant {
  readonly title: string;
  readonly process: ContestantProcess;
  /** Its name within the process. */
  readonly rival: string;
}

export interface DuelOptions {
  readonly folder: string;
  readonly oracle: Contestant;
  /** So many models are compared with the oracle, which is slow. */
  readonly comparedModels: number;
  readonly rounds: number;
  /** Time of a turn. */
  readonly turnMs: number;
}

export type Outcome = {
  readonly title: string;
  /** Largest difference to the oracle, relative to the oracle's largest value; NaN when there was none to compare. */
  readonly difference: number;
} & ({ readonly perSecond: readonly number[] } | { readonly notRun: string });

/** Sampled outputs feed on one another over the horizon, losses are means over many. */
const toleranceOf = { forecast: 1e-3, train: 1e-4 } as const;

/** So slow that a single model outlasts a turn: a few rounds must do. */
const roundsOfSlow = 3;

type Turn = Pick<Extract<Question, { do: "time" }>, "models" | "minMs" | "warmUp">;

interface Entrant {
  readonly contestant: Contestant;
  readonly difference: number;
  readonly models: number;
  readonly rounds: number;
  readonly perSecond: number[];
}

export async function duel(
  work: Work,
  contestants: readonly Contestant[],
  options: DuelOptions,
): Promise<readonly Outcome[]> {
  const expected = await resultOf(options.oracle, work, options);
  const outcomes = new Map<Contestant, Outcome>();
  const entrants: Entrant[] = [];
  for (const contestant of contestants) {
    try {
      entrants.push(await admit(contestant, work, expected, options));
    } catch (error) {
      outcomes.set(contestant, refusal(contestant, (error as Error).message));
    }
  }
  for (let round = 0; round < options.rounds; round++) {
    // Every second round runs backwards: what drifts during a round falls on nobody in particular.
    for (const { contestant, models, rounds, perSecond } of round % 2 === 0
      ? entrants
      : entrants.toReversed()) {
      if (round >= rounds) continue;
      perSecond.push(await rateOf(contestant, work, { models, minMs: options.turnMs, warmUp: models > 1 }));
    }
  }
  for (const { contestant, difference, perSecond } of entrants) {
    outcomes.set(contestant, { title: contestant.title, difference, perSecond });
  }
  return contestants.map((contestant) => outcomes.get(contestant) as Outcome);
}

function refusal({ title }: Contestant, reason: string): Outcome {
  return { title, difference: Number.NaN, notRun: reason };
}

/** Compares, warms up, and finds how many models make up one turn. */
async function admit(
  contestant: Contestant,
  work: Work,
  expected: Float64Array,
  options: DuelOptions,
): Promise<Entrant> {
  const difference = differenceOf(await resultOf(contestant, work, options), expected);
  if (!(difference <= toleranceOf[work.kind])) {
    throw new Error(`its results differ by ${difference.toExponential(1)} from the reference's`);
  }
  const minMs = options.turnMs;
  const alone = await rateOf(contestant, work, { models: 1, minMs, warmUp: false });
  // All models together where a turn has time for them: stacking pays. The slow ones take as many as fit.
  const fitting = Math.floor((alone * minMs) / 1000);
  const rounds = fitting < 1 ? Math.min(roundsOfSlow, options.rounds) : options.rounds;
  const models = Math.max(1, Math.min(work.models, fitting));
  if (models > 1) await rateOf(contestant, work, { models, minMs, warmUp: true });
  return { contestant, difference, models, rounds, perSecond: [] };
}

/** Per second of processor time: what others do on the same core costs its turn, not its figure. */
async function rateOf({ process, rival }: Contestant, work: Work, turn: Turn): Promise<number> {
  const { units, cpuMs } = await process.ask<Timing>({ do: "time", rival, work: work.name, ...turn });
  return (1000 * units) / cpuMs;
}

async function resultOf(contestant: Contestant, work: Work, options: DuelOptions): Promise<Float64Array> {
  const { process, rival } = contestant;
  const file = join(options.folder, "result");
  await process.ask({ do: "run", rival, work: work.name, models: options.comparedModels, file });
  return new Float64Array(new Uint8Array(readFileSync(file)).buffer);
}

/** Largest absolute difference over the largest absolute value expected; infinite when the shapes differ. */
export function differenceOf(found: Float64Array, expected: Float64Array): number {
  if (found.length !== expected.length) return Number.POSITIVE_INFINITY;
  let [difference, scale] = [0, 0];
  for (let i = 0; i < expected.length; i++) {
    difference = Math.max(difference, Math.abs(found[i] - expected[i]));
    scale = Math.max(scale, Math.abs(expected[i]));
  }
  return difference / scale;
}
