// How the forecasts of one version have done of late: sums of scores that fade with the age of the slot, counted in
// slots and never in wall time, so that a pause of the worker forgets nothing. What it holds is stored as it is.

import type { LiveScores } from "../../domain.ts";
import { ABSOLUTE, CAPPED, CRPS, INSIDE, PINBALL, type ScoreRule, STEPS } from "./step-scores.ts";

export class RollingScores {
  readonly rule: ScoreRule;
  /** A tally of `step-scores.ts`, each step weighed by exp(−age/rollingSteps). */
  readonly sums: Float64Array;
  readonly #rollingSteps: number;
  #newestSlot = Number.NEGATIVE_INFINITY;
  #scoredSlots = 0;

  constructor(rule: ScoreRule, rollingSteps: number) {
    this.rule = rule;
    this.sums = new Float64Array(rule.tallyLength);
    this.#rollingSteps = rollingSteps;
  }

  /** The newest slot scored, which the sums are as of; −Infinity when none was. */
  get newestSlot(): number {
    return this.#newestSlot;
  }

  get scoredSlots(): number {
    return this.#scoredSlots;
  }

  /** A slot was observed for the first time. */
  add(tally: Float64Array, slot: number): void {
    if (slot > this.#newestSlot) this.#moveTo(slot);
    const weight = this.#weightOf(slot);
    for (let i = 0; i < tally.length; i++) this.sums[i] += weight * tally[i];
    this.#scoredSlots++;
  }

  /** A slot scored before holds another value now. */
  replace(was: Float64Array, is: Float64Array, slot: number): void {
    const weight = this.#weightOf(slot);
    for (let i = 0; i < is.length; i++) this.sums[i] += weight * (is[i] - was[i]);
  }

  /** Null until something was scored. */
  scores(): LiveScores | null {
    if (this.#scoredSlots === 0) return null;
    const { intervals } = this.rule;
    const coverage = intervals.map(({ stated }, i) => ({ stated, observed: this.#mean(INSIDE + i) }));
    return { mase: this.mase, crps: this.crps, coverage, scoredSteps: this.#scoredSlots };
  }

  /** Mean absolute error of the median over the naive error; NaN until something was scored, as the others. */
  get mase(): number {
    return this.#mean(ABSOLUTE);
  }

  /** The same in which no slot counts for more than a bound: one shock does not lift it for long. */
  get cappedMase(): number {
    return this.#mean(CAPPED);
  }

  /** Mean over levels, over the naive error. */
  get pinball(): number {
    return this.#mean(PINBALL);
  }

  /** In units of the series. */
  get crps(): number {
    return this.#mean(CRPS);
  }

  /** Puts back what was stored. */
  load(stored: {
    readonly sums: Float64Array;
    readonly newestSlot: number;
    readonly scoredSlots: number;
  }): void {
    this.sums.set(stored.sums);
    this.#scoredSlots = stored.scoredSlots;
    this.#newestSlot = stored.scoredSlots === 0 ? Number.NEGATIVE_INFINITY : stored.newestSlot;
  }

  #moveTo(slot: number): void {
    if (this.#scoredSlots > 0) {
      const fading = Math.exp((this.#newestSlot - slot) / this.#rollingSteps);
      for (let i = 0; i < this.sums.length; i++) this.sums[i] *= fading;
    }
    this.#newestSlot = slot;
  }

  #weightOf(slot: number): number {
    return slot === this.#newestSlot ? 1 : Math.exp((slot - this.#newestSlot) / this.#rollingSteps);
  }

  /** What was replaced may leave a sum of zeros a rounding error below zero. */
  #mean(place: number): number {
    return Math.max(0, this.sums[place] / this.sums[STEPS]);
  }
}
