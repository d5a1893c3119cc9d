// Measures one work on several contestants: first compares their results with the reference, then times them in turns,
// round after round. A contestant with different results, or that cannot do the work, is not timed.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Contestant } from "./contestants.ts";
import type { Question, Timing, Work } from "./protocol.ts";

interface DuelOptions {
  readonly folder: string;
  readonly oracle: Contestant;
  /** Number of models that are compared with the oracle, which is slow. */
  readonly comparedModels: number;
  readonly rounds: number;
  /** Time of a turn. */
  readonly turnMs: number;
}

export type ContestantResult = {
  readonly title: string;
  /** Largest difference from the oracle, relative to the oracle's largest value; NaN if there was no result. */
  readonly difference: number;
} & ({ readonly perSecond: readonly number[] } | { readonly notRun: string });

/**
 * Far above rounding errors, far below a mistake. Sampled outputs amplify each other over the horizon; in training, a
 * ReLU near zero can be on either side, and Adam's first steps depend on the sign of a gradient, not on its size.
 */
export const tolerance = 1e-3;

/** A contestant that needs more turns than this for one model is timed once. */
const turnsOfSlow = 4;
/** A contestant that needs longer than this in the comparison, without a warm-up, is not timed again. */
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
): Promise<readonly ContestantResult[]> {
  const { values: expected } = await resultOf(options.oracle, work, options);
  const outcomes = new Map<Contestant, ContestantResult>();
  const entrants: Entrant[] = [];
  for (const contestant of contestants) {
    try {
      entrants.push(await admit(contestant, work, expected, options));
    } catch (error) {
      outcomes.set(contestant, refusal(contestant, (error as Error).message));
    }
  }
  for (let round = 0; round < options.rounds; round++) {
    // Every second round runs backwards, so that drift during a round favours no contestant.
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
  return contestants.map((contestant) => outcomes.get(contestant) as ContestantResult);
}

function refusal({ title }: Contestant, reason: string): ContestantResult {
  return { title, difference: Number.NaN, notRun: reason };
}

/** Compares, warms up, and determines the number of models in a turn. */
async function admit(
  contestant: Contestant,
  work: Work,
  expected: Float64Array,
  options: DuelOptions,
): Promise<Entrant> {
  const { values, timing } = await resultOf(contestant, work, options);
  const difference = differenceOf(values, expected);
  if (!(difference <= tolerance)) {
    throw new Error(`its results differ by ${difference.toExponential(1)} from those of the reference`);
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

/** The number of models at once with which the contestant is fastest, among those that a turn has time for. */
async function findStack(contestant: Contestant, work: Work, turnMs: number): Promise<number> {
  let best = { models: 1, rate: 0 };
  let passMs = 0;
  // The next size takes up to four times as long.
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

/** By CPU time, which other processes on the same core do not affect. */
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

/** Largest absolute difference, relative to the largest expected absolute value; infinite if the lengths differ. */
export function differenceOf(found: Float64Array, expected: Float64Array): number {
  if (found.length !== expected.length) return Number.POSITIVE_INFINITY;
  let [difference, scale] = [0, 0];
  for (let i = 0; i < expected.length; i++) {
    difference = Math.max(difference, Math.abs(found[i] - expected[i]));
    scale = Math.max(scale, Math.abs(expected[i]));
  }
  return difference / scale;
}
