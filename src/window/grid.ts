// The past of one series on its grid: a ring of slots in typed arrays. Holds observed values only: a gap is NaN and
// is filled when a window is taken, so a late point simply goes into its slot. The content depends on which
// observations came, never on their order. This file decides what becomes of a late, duplicate or out-of-order point.
//
// Slots are numbered along the grid, negative before the epoch. Blocks of BLOCK_SLOTS slots are the unit of memory
// and of stored state. The ring holds the newest `capacityBlocks` blocks; its arrays double in size as the series
// ages. The place of a block in the ring is cleared when the block becomes part of it.
//
// Below the grid: the functions that fill the gaps of a window or history copied from it, and UnbrokenRun, which knows
// how far back a series has no gap too long to fill.

import type { GapPolicy, SeriesSettings } from "../domain.ts";

export const BLOCK_SLOTS = 64;

/** "replaced": the slot held other values, now overwritten; "outdated": the slot holds newer values, which stay. */
export type PutOutcome = "advanced" | "late-amended" | "replaced" | "outdated" | "too-late";

interface GridShape {
  readonly channels: number;
  /** Least number of slots to store. Whole blocks are stored, so there are usually a few more. */
  readonly history: number;
  /** Largest distance between an event time and the time of its slot. */
  readonly maxJitterMs: number;
}

/** Event time minus slot time, in milliseconds. Fits 32 bits, except for steps of months and years. */
type Jitter = Int32Array | Float64Array;

export class Grid {
  readonly channels: number;
  readonly capacityBlocks: number;
  readonly #needsWideJitter: boolean;
  /** Blocks that the arrays have room for. */
  #blocks = 1;
  #values: Float64Array;
  /** Null until an event time differs from the time of its slot: the times of many sensors are exact. */
  #jitter: Jitter | null = null;
  #oldestBlock = 0;
  /** −Infinity while the grid is empty. */
  #newestBlock = Number.NEGATIVE_INFINITY;
  #newestSlot = Number.NEGATIVE_INFINITY;

  constructor(shape: GridShape) {
    this.channels = shape.channels;
    // One block more than the history fills: the newest block may hold only one slot.
    this.capacityBlocks = Math.ceil((shape.history - 1) / BLOCK_SLOTS) + 1;
    this.#needsWideJitter = shape.maxJitterMs >= 2 ** 31;
    this.#values = new Float64Array(BLOCK_SLOTS * shape.channels);
  }

  /** −Infinity while the grid is empty. */
  get newestSlot(): number {
    return this.#newestSlot;
  }

  /** The oldest slot that the ring can hold; points before it are too late. */
  get oldestSlot(): number {
    return (this.#newestBlock - this.capacityBlocks + 1) * BLOCK_SLOTS;
  }

  get bytes(): number {
    return this.#values.byteLength + (this.#jitter?.byteLength ?? 0);
  }

  /** Of several observations in one slot the latest event time stays; of equal times the last one. */
  put(slot: number, jitterMs: number, values: readonly number[]): PutOutcome {
    const block = blockOf(slot);
    const isAdvance = slot > this.#newestSlot;
    if (block <= this.#newestBlock - this.capacityBlocks) return "too-late";
    if (block > this.#newestBlock || block < this.#oldestBlock) this.#extendTo(block);
    const place = this.#placeOf(slot);
    const isTaken = !Number.isNaN(this.#values[place * this.channels]);
    if (isTaken && jitterMs < (this.#jitter?.[place] ?? 0)) return "outdated";
    if (jitterMs !== 0) this.#jitter ??= this.#newJitter(this.#blocks);
    if (this.#jitter !== null) this.#jitter[place] = jitterMs;
    for (let c = 0; c < this.channels; c++) this.#values[place * this.channels + c] = values[c];
    if (isAdvance) this.#newestSlot = slot;
    return isTaken ? "replaced" : isAdvance ? "advanced" : "late-amended";
  }

  has(slot: number): boolean {
    return !Number.isNaN(this.at(slot, 0));
  }

  /** The observed value; NaN for a gap and outside the stored range. */
  at(slot: number, channel: number): number {
    if (slot > this.#newestSlot || slot < this.#oldestBlock * BLOCK_SLOTS) return Number.NaN;
    return this.#values[this.#placeOf(slot) * this.channels + channel];
  }

  /** All channels of a slot; null for a gap and outside the stored range. */
  valuesAt(slot: number): readonly number[] | null {
    if (!this.has(slot)) return null;
    return Array.from({ length: this.channels }, (_, c) => this.at(slot, c));
  }

  /** The oldest slot that holds an observation; −Infinity while the grid is empty. */
  firstObservedSlot(): number {
    let slot = this.#oldestBlock * BLOCK_SLOTS;
    while (slot < this.#newestSlot && !this.has(slot)) slot++;
    return Math.min(slot, this.#newestSlot);
  }

  /** Copies `steps` stored slots from `firstSlot` on to `target`; returns the number of gaps among them. */
  copy(firstSlot: number, steps: number, target: Float64Array): number {
    const length = this.#values.length;
    let from = this.#placeOf(firstSlot) * this.channels;
    let gaps = 0;
    for (let to = 0; to < steps * this.channels; to++) {
      const value = this.#values[from];
      target[to] = value;
      if (Number.isNaN(value)) gaps++;
      if (++from === length) from = 0;
    }
    return gaps / this.channels;
  }

  /** The stored blocks that hold an observation, oldest first. */
  filledBlocks(): number[] {
    const blocks: number[] = [];
    for (let block = this.#oldestBlock; block <= this.#newestBlock; block++) {
      if (this.#usedSlots(block) > 0) blocks.push(block);
    }
    return blocks;
  }

  /** A copy of a block up to its last observed slot. Little-endian, as are all machines that we run on. */
  readBlock(block: number): { readonly values: Buffer; readonly jitterMs: Buffer | null } {
    const place = this.#placeOf(block * BLOCK_SLOTS);
    const slots = this.#usedSlots(block);
    const values = this.#values.subarray(place * this.channels, (place + slots) * this.channels);
    const jitter = this.#jitter?.subarray(place, place + slots);
    const isExact = jitter === undefined || jitter.every((jitterMs: number) => jitterMs === 0);
    return { values: Buffer.from(bytesOf(values)), jitterMs: isExact ? null : Buffer.from(bytesOf(jitter)) };
  }

  /** Restores a block that `readBlock` returned; returns false when the ring has moved past it. */
  loadBlock(
    block: number,
    bytes: { readonly values: Uint8Array; readonly jitterMs: Uint8Array | null },
  ): boolean {
    if (block <= this.#newestBlock - this.capacityBlocks) return false;
    if (block > this.#newestBlock || block < this.#oldestBlock) this.#extendTo(block);
    const place = this.#placeOf(block * BLOCK_SLOTS);
    const slots = bytes.values.byteLength / (this.channels * Float64Array.BYTES_PER_ELEMENT);
    const values = this.#values.subarray(place * this.channels, (place + BLOCK_SLOTS) * this.channels);
    values.fill(Number.NaN);
    bytesOf(values).set(bytes.values);
    if (bytes.jitterMs !== null) this.#jitter ??= this.#newJitter(this.#blocks);
    const jitter = this.#jitter?.subarray(place, place + BLOCK_SLOTS).fill(0);
    if (jitter !== undefined && bytes.jitterMs !== null) bytesOf(jitter).set(bytes.jitterMs);
    if (slots > 0) this.#newestSlot = Math.max(this.#newestSlot, block * BLOCK_SLOTS + slots - 1);
    return true;
  }

  /** Extends the ring to a block after the newest or before the oldest, and clears the blocks between. */
  #extendTo(block: number): void {
    const oldest = Math.max(Math.min(this.#oldestBlock, block), block - this.capacityBlocks + 1);
    if (oldest > this.#newestBlock) {
      // The first block, or a jump beyond everything stored.
      this.#oldestBlock = block;
      this.#newestBlock = block;
      this.#clear(block);
      return;
    }
    const newest = Math.max(this.#newestBlock, block);
    if (newest - oldest + 1 > this.#blocks)
      this.#grow(newest - oldest + 1, Math.max(oldest, this.#oldestBlock));
    for (let b = oldest; b < this.#oldestBlock; b++) this.#clear(b);
    for (let b = Math.max(oldest, this.#newestBlock + 1); b <= newest; b++) this.#clear(b);
    this.#oldestBlock = oldest;
    this.#newestBlock = newest;
  }

  #grow(neededBlocks: number, firstToKeep: number): void {
    const blocks = Math.min(this.capacityBlocks, Math.max(2 * this.#blocks, neededBlocks));
    const values = new Float64Array(blocks * BLOCK_SLOTS * this.channels);
    const jitter = this.#jitter === null ? null : this.#newJitter(blocks);
    for (let block = firstToKeep; block <= this.#newestBlock; block++) {
      const from = this.#placeOf(block * BLOCK_SLOTS);
      const to = modulo(block, blocks) * BLOCK_SLOTS;
      const end = from + BLOCK_SLOTS;
      values.set(this.#values.subarray(from * this.channels, end * this.channels), to * this.channels);
      if (this.#jitter !== null) jitter?.set(this.#jitter.subarray(from, end), to);
    }
    this.#blocks = blocks;
    this.#values = values;
    this.#jitter = jitter;
  }

  #clear(block: number): void {
    const place = this.#placeOf(block * BLOCK_SLOTS);
    this.#values.fill(Number.NaN, place * this.channels, (place + BLOCK_SLOTS) * this.channels);
    this.#jitter?.fill(0, place, place + BLOCK_SLOTS);
  }

  /** Number of slots of the block up to its last observed one. */
  #usedSlots(block: number): number {
    const place = this.#placeOf(block * BLOCK_SLOTS);
    let slots = BLOCK_SLOTS;
    while (slots > 0 && Number.isNaN(this.#values[(place + slots - 1) * this.channels])) slots--;
    return slots;
  }

  #placeOf(slot: number): number {
    return modulo(slot, this.#blocks * BLOCK_SLOTS);
  }

  #newJitter(blocks: number): Jitter {
    const slots = blocks * BLOCK_SLOTS;
    return this.#needsWideJitter ? new Float64Array(slots) : new Int32Array(slots);
  }
}

export function blockOf(slot: number): number {
  return Math.floor(slot / BLOCK_SLOTS);
}

export function modulo(value: number, divisor: number): number {
  const rest = value % divisor;
  // A negative multiple gives −0, which differs from 0 when stored state is compared strictly.
  return rest < 0 ? rest + divisor : rest + 0;
}

function bytesOf(array: Float64Array | Int32Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

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
