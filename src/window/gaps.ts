// The gaps of a grid: how those of a window or history copied from it are filled, and UnbrokenRun, which knows how far back a
// series has no gap that is too long to fill.

import type { GapPolicy, SeriesSettings } from "../domain.ts";
import type { Grid } from "./grid.ts";

/**
 * Fills every NaN of `values`, a copy of the grid's slots from `firstSlot` on. Each gap must have an observed slot on
 * both sides: a copy begins in an unbroken run and ends at an observed slot.
 */
export function fillGaps(
  values: Float64Array,
  grid: Grid,
  firstSlot: number,
  rule: { readonly gapPolicy: GapPolicy; readonly season: number },
): void {
  const { channels } = grid;
  for (let i = 0; i < values.length; i += channels) {
    if (!Number.isNaN(values[i])) continue;
    const slot = firstSlot + i / channels;
    for (let c = 0; c < channels; c++) values[i + c] = fillSlot(grid, slot, c, rule);
  }
}

/**
 * Fills runs of at most `longest` missing slots and leaves longer ones NaN. Returns one byte per slot, 1 where it was
 * filled; null when nothing was filled.
 */
export function fillShortGaps(
  values: Float64Array,
  grid: Grid,
  firstSlot: number,
  rule: { readonly gapPolicy: GapPolicy; readonly season: number; readonly longest: number },
): Uint8Array | null {
  const { channels } = grid;
  const slots = values.length / channels;
  let filled: Uint8Array | null = null;
  for (let slot = 0; slot < slots; slot++) {
    const from = slot;
    while (slot < slots && Number.isNaN(values[slot * channels])) slot++;
    if (slot === from || slot - from > rule.longest) continue;
    filled ??= new Uint8Array(slots);
    filled.fill(1, from, slot);
    fillGaps(values.subarray(from * channels, slot * channels), grid, firstSlot + from, rule);
  }
  return filled;
}

function fillSlot(
  grid: Grid,
  slot: number,
  channel: number,
  rule: { readonly gapPolicy: GapPolicy; readonly season: number },
): number {
  if (rule.gapPolicy === "seasonal") {
    const before = grid.at(slot - rule.season, channel);
    if (!Number.isNaN(before)) return before;
    const after = grid.at(slot + rule.season, channel);
    if (!Number.isNaN(after)) return after;
  }
  let left = slot - 1;
  while (!grid.has(left)) left--;
  if (rule.gapPolicy === "hold") return grid.at(left, channel);
  let right = slot + 1;
  while (!grid.has(right)) right++;
  const share = (slot - left) / (right - left);
  return grid.at(left, channel) * (1 - share) + grid.at(right, channel) * share;
}

/**
 * The run of slots up to the newest one without a gap that is too long to fill. Follows the newest slot in constant
 * time; looks backwards only when a late point may have closed the gap before the run.
 */
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

  /** Call when the newest slot of the grid has moved. `previousNewest` is −Infinity for the first slot. */
  advance(previousNewest: number): void {
    const { newestSlot } = this.#grid;
    if (newestSlot - previousNewest - 1 > this.#gapMax) this.#firstSlot = newestSlot;
  }

  /** Call when a late point has filled an earlier slot. */
  amend(slot: number): void {
    if (slot < this.#firstSlot) this.#extendBackwards(this.#firstSlot);
  }

  /** Derives the run from the grid alone. */
  rebuild(): void {
    this.#extendBackwards(this.#grid.newestSlot);
  }

  /**
   * Steps in the run, at most the history. The first of them is observed, so that a run derived from the grid has the
   * same length as one that was followed all along.
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
