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

/**
 * Far above rounding, far below a mistake. Sampled outputs feed on one another over the horizon; in training a rectifier
 * within rounding of zero may fall on either side, and Adam's first steps take the sign of a gradient for its size.
 */
export const tolerance = 1e-3;

/** Who needs so many turns for one model is timed once. */
const turnsOfSlow = 4;
/** Who needs so long while its results are compared, cold as it is, is not asked again. */
const longestMs = 10_000;

type Turn = Pick<Extract<Question, { do: "time" }>, "models" | "minMs" | "warmUp">;

interface Entrant {
  readonly contestant: Contestant;
  readonly difference: number;
  readonly models: number;
  readonly isSlow: boolean;
  readonly perSecond: number[];
}

export async function duel(
  work: Work,
  contestants: readonly Contestant[],
  options: DuelOptions,
): Promise<readonly Outcome[]> {
  const { values: expected } = await resultOf(options.oracle, work, options);
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
    for (const { contestant, models, isSlow, perSecond } of round % 2 === 0
      ? entrants
      : entrants.toReversed()) {
      if (isSlow) continue;
      perSecond.push(await rateOf(contestant, work, { models, minMs: options.turnMs, warmUp: true }));
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
  const { values, timing } = await resultOf(contestant, work, options);
  const difference = differenceOf(values, expected);
  if (!(difference <= tolerance)) {
    throw new Error(`its results differ by ${difference.toExponential(1)} from the reference's`);
  }
  const { turnMs } = options;
  const isSlow = ({ cpuMs, units }: Timing, limitMs: number) => cpuMs / units > limitMs;
  let alone = timing;
  if (isSlow(alone, turnsOfSlow * turnMs) && !isSlow(alone, longestMs)) {
    alone = await timingOf(contestant, work, { models: 1, minMs: 0, warmUp: false });
  }
  const entrant = { contestant, difference, models: 1, isSlow: isSlow(alone, turnsOfSlow * turnMs) };
  if (entrant.isSlow) return { ...entrant, perSecond: [perCpuSecond(alone)] };
  return { ...entrant, models: await findStack(contestant, work, turnMs), perSecond: [] };
}

/**
 * How many models it is given at once: the number it is fastest with, among those that a turn has time for. Those
 * who compute one model after the other do not mind; those who stack them gain.
 */
async function findStack(contestant: Contestant, work: Work, turnMs: number): Promise<number> {
  let best = { models: 1, rate: 0 };
  let passMs = 0;
  // The next size may take four times as long as this one, or no longer at all.
  for (let models = 1; passMs < turnMs && models <= work.models; models *= 4) {
    const rate = await rateOf(contestant, work, { models, minMs: turnMs / 2, warmUp: true });
    passMs = (1000 * models) / rate;
    if (rate > best.rate) best = { models, rate };
  }
  return best.models;
}

async function rateOf(contestant: Contestant, work: Work, turn: Turn): Promise<number> {
  return perCpuSecond(await timingOf(contestant, work, turn));
}

function timingOf({ process, rival }: Contestant, work: Work, turn: Turn): Promise<Timing> {
  return process.ask<Timing>({ do: "time", rival, work: work.name, ...turn });
}

/** By processor time: what others do on the same core costs a contestant its turn, not its figure. */
function perCpuSecond({ units, cpuMs }: Timing): number {
  return (1000 * units) / cpuMs;
}

async function resultOf(
  { process, rival }: Contestant,
  work: Work,
  { folder, comparedModels }: DuelOptions,
): Promise<{ readonly values: Float64Array; readonly timing: Timing }> {
  const file = join(folder, "result");
  const models = comparedModels;
  const timing = await process.ask<Timing>({ do: "run", rival, work: work.name, models, file });
  return { values: new Float64Array(new Uint8Array(readFileSync(file)).buffer), timing };
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
