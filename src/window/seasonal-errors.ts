// The errors that "the same as one season ago" would have made over the last steps, between observed values only. Follows
// the newest slot, one error in and one out per step, and collects all again after a late point, a replaced value, a jump,
// or with another season. Depends on the grid alone.

import type { ErrorSummary } from "../domain.ts";
import { ErrorSample, seasonalErrorSteps } from "../models/error-sample.ts";
import type { Grid } from "./grid.ts";

export class SeasonalErrors {
  readonly #grid: Grid;
  readonly #history: number;
  #season = 0;
  /** K: the samples hold the errors of the steps newest−K+1 … newest. */
  #steps = 0;
  /** One per channel, created on first use: when a fleet starts, most series are too young to need them. */
  #samples: readonly ErrorSample[] = [];
  /** The newest step in the samples; −Infinity when they are out of date. */
  #through = Number.NEGATIVE_INFINITY;

  /** `history`: the number of slots that the grid keeps at least. */
  constructor(grid: Grid, history: number) {
    this.#grid = grid;
    this.#history = history;
  }

  /** Call when a slot that may be in the samples has changed. */
  invalidate(): void {
    this.#through = Number.NEGATIVE_INFINITY;
  }

  /** One summary per channel; null when no two observed values are a season apart. */
  summarize(season: number, levels: readonly number[]): readonly ErrorSummary[] | null {
    if (season !== this.#season) this.#begin(season);
    this.#moveToNewest();
    if (this.#samples[0].count === 0) return null;
    return this.#samples.map((sample) => sample.summarize(levels));
  }

  #begin(season: number): void {
    this.#season = season;
    this.#steps = Math.max(0, Math.min(seasonalErrorSteps(season), this.#history - season));
    this.#samples = [];
    this.invalidate();
  }

  #moveToNewest(): void {
    const { newestSlot, oldestSlot } = this.#grid;
    const oldestNeeded = this.#through - this.#steps - this.#season + 1;
    // Errors that leave the samples are computed again from the grid, so the grid must still hold their values.
    const canStep = newestSlot - this.#through < this.#steps && oldestNeeded >= oldestSlot;
    if (!canStep) this.#collect();
    for (let slot = this.#through + 1; slot <= newestSlot; slot++) this.#step(slot);
    this.#through = newestSlot;
  }

  #step(slot: number): void {
    for (let c = 0; c < this.#samples.length; c++) {
      const leaving = this.#errorAt(slot - this.#steps, c);
      if (!Number.isNaN(leaving)) this.#samples[c].remove(leaving);
      const entering = this.#errorAt(slot, c);
      if (!Number.isNaN(entering)) this.#samples[c].insert(entering);
    }
  }

  #collect(): void {
    if (this.#samples.length === 0) {
      this.#samples = Array.from({ length: this.#grid.channels }, () => new ErrorSample(this.#steps));
    }
    const errors = new Float64Array(this.#steps);
    for (let c = 0; c < this.#samples.length; c++) {
      let count = 0;
      for (let back = 0; back < this.#steps; back++) {
        const error = this.#errorAt(this.#grid.newestSlot - back, c);
        if (!Number.isNaN(error)) errors[count++] = error;
      }
      this.#samples[c].replaceAll(errors.subarray(0, count));
    }
    this.#through = this.#grid.newestSlot;
  }

  #errorAt(slot: number, channel: number): number {
    // Adding 0 turns −0 into 0, so that equal errors have equal bits.
    return this.#grid.at(slot, channel) - this.#grid.at(slot - this.#season, channel) + 0;
  }
}
