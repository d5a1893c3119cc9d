// The past of one series on its grid: a ring of slots for each channel. Holds observed values only: a gap is NaN and
// is filled when a window is taken, so a late point simply goes into its slot. The content depends on which
// observations came, never on their order. This file decides what becomes of a late, duplicate or out-of-order point.
//
// Slots are numbered along the grid, negative before the epoch. Blocks of BLOCK_SLOTS slots are the unit of memory
// and of stored state. The ring holds the newest `capacityBlocks` blocks; its arrays double in size as the series
// ages. The place of a block in the ring is cleared when the block becomes part of it.

import type { PackedValuesRecord } from "../log/codec/schemas.generated.ts";
import { ExactValues, type Move } from "./exact-values.ts";
import { packedCount, packValues, unpackValues } from "./packed-values.ts";

export const BLOCK_SLOTS = 64;

/** "replaced": the slot held other values, now overwritten; "outdated": the slot holds newer values, which stay. */
export type PutOutcome = "advanced" | "late-amended" | "replaced" | "outdated" | "too-late";

interface GridShape {
  readonly channels: number;
  /** Least number of slots to store. Whole blocks are stored, so there are usually a few more. */
  readonly history: number;
}

/** The slots of one block and channel, on their way between the ring and what is stored. */
const blockValues = new Float64Array(BLOCK_SLOTS);

export class Grid {
  readonly channels: number;
  readonly capacityBlocks: number;
  /** Blocks that the arrays have room for. */
  #blocks = 1;
  /** One per channel: what the channels need differs. */
  readonly #columns: readonly ExactValues[];
  /**
   * Event time minus slot time, in milliseconds; NaN for 0. Null until an event time differs from the time of its slot: the
   * times of many sensors are exact.
   */
  #jitter: ExactValues | null = null;
  #oldestBlock = 0;
  /** −Infinity while the grid is empty. */
  #newestBlock = Number.NEGATIVE_INFINITY;
  #newestSlot = Number.NEGATIVE_INFINITY;

  constructor(shape: GridShape) {
    this.channels = shape.channels;
    // One block more than the history fills: the newest block may hold only one slot.
    this.capacityBlocks = Math.ceil((shape.history - 1) / BLOCK_SLOTS) + 1;
    this.#columns = Array.from({ length: shape.channels }, () => new ExactValues(BLOCK_SLOTS));
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
    return this.#columns.reduce((sum, { bytes }) => sum + bytes, this.#jitter?.bytes ?? 0);
  }

  /** Of several observations in one slot the latest event time stays; of equal times the last one. */
  put(slot: number, jitterMs: number, values: readonly number[]): PutOutcome {
    const block = blockOf(slot);
    const isAdvance = slot > this.#newestSlot;
    if (block <= this.#newestBlock - this.capacityBlocks) return "too-late";
    if (block > this.#newestBlock || block < this.#oldestBlock) this.#extendTo(block);
    const place = this.#placeOf(slot);
    const isTaken = !Number.isNaN(this.#columns[0].at(place));
    if (isTaken && jitterMs < (this.#jitter?.at(place) || 0)) return "outdated";
    if (jitterMs !== 0) this.#jitter ??= new ExactValues(this.#blocks * BLOCK_SLOTS);
    this.#jitter?.set(place, jitterMs);
    for (let c = 0; c < this.channels; c++) this.#columns[c].set(place, values[c]);
    if (isAdvance) this.#newestSlot = slot;
    return isTaken ? "replaced" : isAdvance ? "advanced" : "late-amended";
  }

  has(slot: number): boolean {
    return !Number.isNaN(this.at(slot, 0));
  }

  /** The observed value; NaN for a gap and outside the stored range. */
  at(slot: number, channel: number): number {
    if (slot > this.#newestSlot || slot < this.#oldestBlock * BLOCK_SLOTS) return Number.NaN;
    return this.#columns[channel].at(this.#placeOf(slot));
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
    const place = this.#placeOf(firstSlot);
    let gaps = 0;
    for (let c = 0; c < this.channels; c++)
      gaps += this.#columns[c].copy(place, steps, target, c, this.channels);
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

  /** A copy of a block up to its last observed slot: its channels, and its jitter unless all times are exact. */
  readBlock(block: number): PackedValuesRecord[] {
    const place = this.#placeOf(block * BLOCK_SLOTS);
    const slots = this.#usedSlots(block);
    const packed = this.#columns.map((column) => {
      column.copy(place, slots, blockValues);
      return packValues(blockValues, slots);
    });
    if (this.#jitter === null) return packed;
    this.#jitter.copy(place, slots, blockValues);
    let isExact = true;
    for (let i = 0; i < slots; i++) {
      blockValues[i] ||= 0; // No number and 0 are one jitter, and must be stored alike.
      if (blockValues[i] !== 0) isExact = false;
    }
    if (!isExact) packed.push(packValues(blockValues, slots));
    return packed;
  }

  /** Restores a block that `readBlock` returned; returns false when the ring has moved past it. */
  loadBlock(block: number, packed: readonly PackedValuesRecord[]): boolean {
    if (block <= this.#newestBlock - this.capacityBlocks) return false;
    if (block > this.#newestBlock || block < this.#oldestBlock) this.#extendTo(block);
    const place = this.#placeOf(block * BLOCK_SLOTS);
    if (packed.length > this.channels) this.#jitter ??= new ExactValues(this.#blocks * BLOCK_SLOTS);
    for (let c = 0; c < this.channels; c++) this.#columns[c].load(place, unpacked(packed[c]));
    this.#jitter?.load(place, unpacked(packed[this.channels]));
    const slots = packedCount(packed[0]) ?? 0;
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
    const moves: Move[] = [];
    for (let block = firstToKeep; block <= this.#newestBlock; block++) {
      const to = modulo(block, blocks) * BLOCK_SLOTS;
      moves.push({ from: this.#placeOf(block * BLOCK_SLOTS), to, length: BLOCK_SLOTS });
    }
    for (const column of this.#columns) column.resize(blocks * BLOCK_SLOTS, moves);
    this.#jitter?.resize(blocks * BLOCK_SLOTS, moves);
    this.#blocks = blocks;
  }

  #clear(block: number): void {
    const place = this.#placeOf(block * BLOCK_SLOTS);
    for (const column of this.#columns) column.clear(place, place + BLOCK_SLOTS);
    this.#jitter?.clear(place, place + BLOCK_SLOTS);
  }

  /** Number of slots of the block up to its last observed one. */
  #usedSlots(block: number): number {
    const place = this.#placeOf(block * BLOCK_SLOTS);
    let slots = BLOCK_SLOTS;
    while (slots > 0 && Number.isNaN(this.#columns[0].at(place + slots - 1))) slots--;
    return slots;
  }

  #placeOf(slot: number): number {
    return modulo(slot, this.#blocks * BLOCK_SLOTS);
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

/** The slots of a whole block, NaN after the last stored one. */
function unpacked(packed: PackedValuesRecord | undefined): Float64Array {
  const slots = packed === undefined ? 0 : unpackValues(packed, blockValues);
  return blockValues.fill(Number.NaN, slots);
}
