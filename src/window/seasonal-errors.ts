// The errors that "the same as one season ago" would have made over the last steps of a series, between
// observed values only. Derived from the grid: it moves along with the newest slot, one error in and one
// out per step, and is gathered anew after an amendment or a jump.

import type { ErrorSummary, SeriesSettings } from "../domain.ts";
import { ErrorSample, seasonalErrorSteps } from "../models/error-sample.ts";
import type { Grid } from "./grid.ts";

export class SeasonalErrors {
  readonly #grid: Grid;
  readonly #season: number;
  /** K: errors of the steps newest−K+1 … newest are in the sample. */
  readonly #steps: number;
  /** One per channel; made when first asked for, since most of a fleet's start-up is young series. */
  #samples: readonly ErrorSample[] = [];
  /** The newest step in the samples; −Infinity when they do not match the grid. */
  #through = Number.NEGATIVE_INFINITY;

  constructor(grid: Grid, settings: SeriesSettings) {
    this.#grid = grid;
    this.#season = settings.season;
    const wanted = seasonalErrorSteps(settings.season);
    this.#steps = Math.max(0, Math.min(wanted, settings.history - settings.season));
  }

  /** A slot that may already be in the samples has changed. */
  invalidate(): void {
    this.#through = Number.NEGATIVE_INFINITY;
  }

  /** One summary per channel, or null when no two observed values lie a season apart. */
  summarize(levels: readonly number[]): readonly ErrorSummary[] | null {
    this.#moveToNewest();
    if (this.#samples[0].count === 0) return null;
    return this.#samples.map((sample) => sample.summarize(levels));
  }

  #moveToNewest(): void {
    const { newestSlot, oldestSlot } = this.#grid;
    const oldestNeeded = this.#through - this.#steps - this.#season + 1;
    // What leaves the samples is computed again from the grid, so the grid must still hold it.
    const canStep = newestSlot - this.#through < this.#steps && oldestNeeded >= oldestSlot;
    if (!canStep) this.#gather();
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

  #gather(): void {
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
    // Adding 0 turns −0 into 0, so that equal errors are equal bits.
    return this.#grid.at(slot, channel) - this.#grid.at(slot - this.#season, channel) + 0;
  }
}
