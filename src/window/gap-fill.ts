// Closes the gaps of a window or of a whole history after it was copied from the grid. Only gaps with an observed
// slot on both sides come here: what is copied begins in an unbroken run, and ends at an observed slot.

import type { GapPolicy } from "../domain.ts";
import type { Grid } from "./grid.ts";

/** Fills every NaN of `values`, which holds the grid's slots from `firstSlot` on. */
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
 * Fills the runs of at most `longest` missing slots and leaves longer ones NaN. Returns one byte per slot, 1 where
 * it was filled; null when nothing was.
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
