// Decides whether a model is stale: its live scores against those of its validation, against a bound, and against the coverage
// that its intervals state. Pure functions.
//
// The defaults come from simulations. Errors of an ideal forecaster were drawn from 36 stationary laws: AR(1) noise with ρ of
// 0, .5 and .9, normal or Student's t with 3 degrees, with and without a wandering level, for τ of 6, 12 and 24. Validation
// error and intervals were taken from 24τ steps, as in training. With ratio 2.25, memory and evidence of 4τ but at least 36
// steps, a cap of 5 and a coverage band of .4, at most 0.6 % of 1,000 series were called stale within 1,000 steps under any
// law. A season with an amplitude of six deviations of the noise that doubles, or becomes a quarter longer, was found after
// 2.4 horizons in the median; with ten deviations after 2. With trained nets (τ of 6, whose validation is noisier) 1.1 % of
// 640 such series were called stale, and the longer season was found after 3.2 horizons.
//   cap    without it, one shock of a heavy tail lifts the rolling mean for a whole memory: 9 % stale under the worst law
//   band   the rolling coverage of a true 80 % interval strays by up to .36 in one series of a hundred

import type { LiveScores } from "../domain.ts";
import { leastMase } from "../models/scores.ts";

export interface DriftRules {
  readonly driftRatio: number;
  /** 0 for none. */
  readonly driftBound: number;
  /** 1 for never. */
  readonly coverageBand: number;
  readonly evidenceSteps: number;
  /** A stale model is fit again once every measure is below this share of its threshold. */
  readonly release: number;
}

export interface DriftFacts {
  /** Of the serving version; null before a forecast of it has matured. */
  readonly scores: LiveScores | null;
  /** The rolling MASE in which no slot counts for more than `errorCapOf`; null when there is none. */
  readonly cappedMase: number | null;
  /** Slots scored since the version serves. */
  readonly scoredSlots: number;
  readonly validationMase: number | null;
  /** The assessment so far. */
  readonly isStale: boolean;
}

export interface Assessment {
  /** "unknown": too little evidence; the earlier assessment stands. */
  readonly state: "fit" | "stale" | "unknown";
  readonly reason: string;
  /** Finite values only. */
  readonly numbers: Readonly<Record<string, number>>;
}

interface Measure {
  readonly value: number;
  readonly threshold: number;
  readonly words: string;
}

export function assess(facts: DriftFacts, rules: DriftRules): Assessment {
  const { scores, scoredSlots, isStale } = facts;
  const numbers = numbersOf(facts);
  if (scores === null || scoredSlots < rules.evidenceSteps) {
    const reason = `${scoredSlots} steps scored, ${rules.evidenceSteps} needed`;
    return { state: "unknown", reason, numbers };
  }
  const measures = measuresOf(scores, facts, rules);
  if (measures.length === 0) return { state: "unknown", reason: "nothing to compare with", numbers };
  const exceeded = measures.find(({ value, threshold }) => value > threshold);
  if (exceeded !== undefined) return { state: "stale", reason: exceeded.words, numbers };
  const lingering = measures.find(({ value, threshold }) => value > rules.release * threshold);
  if (isStale && lingering !== undefined) {
    return { state: "stale", reason: `better, but not yet fit: ${lingering.words}`, numbers };
  }
  return { state: "fit", reason: "all scores are within their thresholds", numbers };
}

function measuresOf(scores: LiveScores, facts: DriftFacts, rules: DriftRules): readonly Measure[] {
  const { cappedMase, validationMase } = facts;
  const { driftRatio, driftBound, coverageBand } = rules;
  const measures: Measure[] = [];
  if (validationMase !== null) {
    const value = cappedMase ?? scores.mase;
    const threshold = driftRatio * Math.max(validationMase, leastMase);
    const times = `${round(driftRatio)} × the ${round(validationMase)} it validated with`;
    measures.push({ value, threshold, words: `rolling MASE is ${round(value)}, allowed ${times}` });
  }
  if (driftBound > 0) {
    const words = `rolling MASE is ${round(scores.mase)}, allowed ${round(driftBound)}`;
    measures.push({ value: scores.mase, threshold: driftBound, words });
  }
  const interval = watchedInterval(scores);
  if (interval !== null && coverageBand < 1) {
    const { stated, observed } = interval;
    const words = `the ${share(stated)} interval held ${share(observed)}, allowed ± ${share(coverageBand)}`;
    measures.push({ value: Math.abs(observed - stated), threshold: coverageBand, words });
  }
  return measures;
}

/** The 80 % interval if there is one: a wider one says less after the same number of steps. */
function watchedInterval({ coverage }: LiveScores): LiveScores["coverage"][number] | null {
  return coverage.find(({ stated }) => Math.abs(stated - 0.8) < 1e-9) ?? coverage.at(-1) ?? null;
}

function numbersOf({ scores, cappedMase, scoredSlots, validationMase }: DriftFacts): Record<string, number> {
  const interval = scores === null ? null : watchedInterval(scores);
  const named = {
    rollingMase: scores?.mase,
    cappedMase,
    validationMase,
    coverage: interval?.observed,
    statedCoverage: interval?.stated,
    scoredSlots,
  };
  const known = Object.entries(named).filter((entry): entry is [string, number] => Number.isFinite(entry[1]));
  return Object.fromEntries(known);
}

function round(value: number): string {
  return String(Number(value.toPrecision(3)));
}

function share(value: number): string {
  return `${Number((100 * value).toFixed(1))} %`;
}
