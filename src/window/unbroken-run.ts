// Where the present run of a series began: the slot after the newest gap that is too long to fill. Moved
// along with the newest slot in constant time; looks backwards only when a late point may have closed the
// gap before the run.

import type { SeriesSettings } from "../domain.ts";
import type { Grid } from "./grid.ts";

export class UnbrokenRun {
  readonly #grid: Grid;
  readonly #gapMax: number;
  readonly #history: number;
  #firstSlot = Number.NEGATIVE_INFINITY;

  constructor(grid: Grid, settings: SeriesSettings) {
    this.#grid = grid;
    this.#gapMax = settings.gapPolicy === "none" ? 0 : settings.gapMax;
    this.#history = settings.history;
  }

  /** The grid's newest slot moved on from `previousNewest`, −Infinity if there was none. */
  advance(previousNewest: number): void {
    const { newestSlot } = this.#grid;
    if (newestSlot - previousNewest - 1 > this.#gapMax) this.#firstSlot = newestSlot;
  }

  /** An earlier slot was filled in late. */
  amend(slot: number): void {
    if (slot < this.#firstSlot) this.#extendBackwards(this.#firstSlot);
  }

  /** Finds the run from the grid alone. */
  rebuild(): void {
    this.#extendBackwards(this.#grid.newestSlot);
  }

  /**
   * Steps in the run, counted within the history. The first of them is observed, so the count is the same
   * whether the run was followed all along or found again from what the grid holds.
   */
  steps(): number {
    const { newestSlot } = this.#grid;
    let first = Math.max(this.#firstSlot, newestSlot - this.#history + 1);
    while (!this.#grid.has(first)) first++;
    return newestSlot - first + 1;
  }

  #extendBackwards(from: number): void {
    this.#firstSlot = from;
    const last = this.#grid.oldestSlot;
    for (let slot = from - 1; slot >= last && this.#firstSlot - slot <= this.#gapMax + 1; slot--) {
      if (this.#grid.has(slot)) this.#firstSlot = slot;
    }
  }
}
