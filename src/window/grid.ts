// The past of one series on its grid: a ring of slots in typed arrays. Holds observed values only (a gap is
// NaN; filling happens when a window is taken), so a late point simply lands in its slot. What the grid
// holds depends on which observations came, never on their order.
//
// Slots are numbered along the grid, negative before the epoch. Blocks of BLOCK_SLOTS slots are the unit of
// memory and of stored state: the ring holds the newest blocks, up to `capacityBlocks`, and its arrays grow
// by doubling as the series ages. A place of the ring is cleared when a block comes to live in it.

export const BLOCK_SLOTS = 64;

/** "replaced": the slot held other values, which are gone; "outdated": what it held is newer and stays. */
export type PutOutcome = "advanced" | "late-amended" | "replaced" | "outdated" | "too-late";

export interface GridShape {
  readonly channels: number;
  /** Slots to keep at least; whole blocks are kept, so usually a few more are there. */
  readonly history: number;
  /** The largest distance of an event time from its slot's time. */
  readonly maxJitterMs: number;
}

/** Milliseconds between event time and slot time. Fits 32 bits but for steps of months and years. */
export type Jitter = Int32Array | Float64Array;

export class Grid {
  readonly channels: number;
  readonly capacityBlocks: number;
  readonly #needsWideJitter: boolean;
  /** Blocks the arrays have room for. */
  #blocks = 1;
  #values: Float64Array;
  /** Null until an event time differs from its slot's time: many sensors stamp exactly. */
  #jitter: Jitter | null = null;
  #oldestBlock = 0;
  /** −Infinity while the grid is empty, as the newest slot. */
  #newestBlock = Number.NEGATIVE_INFINITY;
  #newestSlot = Number.NEGATIVE_INFINITY;

  constructor(shape: GridShape) {
    this.channels = shape.channels;
    // One block more than the history fills: the newest block may hold a single slot.
    this.capacityBlocks = Math.ceil((shape.history - 1) / BLOCK_SLOTS) + 1;
    this.#needsWideJitter = shape.maxJitterMs >= 2 ** 31;
    this.#values = new Float64Array(BLOCK_SLOTS * shape.channels);
  }

  /** −Infinity while the grid is empty. */
  get newestSlot(): number {
    return this.#newestSlot;
  }

  /** The oldest slot the ring can hold; anything before it has been dropped and comes too late. */
  get oldestSlot(): number {
    return (this.#newestBlock - this.capacityBlocks + 1) * BLOCK_SLOTS;
  }

  get bytes(): number {
    return this.#values.byteLength + (this.#jitter?.byteLength ?? 0);
  }

  /** Of several observations in one slot the one with the latest event time stays; of equal ones the last. */
  put(slot: number, jitterMs: number, values: readonly number[]): PutOutcome {
    const block = blockOf(slot);
    const isAdvance = slot > this.#newestSlot;
    if (block <= this.#newestBlock - this.capacityBlocks) return "too-late";
    if (block > this.#newestBlock || block < this.#oldestBlock) this.#enliven(block);
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

  /** The observed value, or NaN for a gap and for anything outside the kept range. */
  at(slot: number, channel: number): number {
    if (slot > this.#newestSlot || slot < this.#oldestBlock * BLOCK_SLOTS) return Number.NaN;
    return this.#values[this.#placeOf(slot) * this.channels + channel];
  }

  /** All channels of a slot; null for a gap and for anything outside the kept range. */
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

  /** Copies `steps` kept slots from `firstSlot` on into `target`; returns how many of them are gaps. */
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

  /** The kept blocks that hold at least one observation, oldest first. */
  filledBlocks(): number[] {
    const blocks: number[] = [];
    for (let block = this.#oldestBlock; block <= this.#newestBlock; block++) {
      if (this.#usedSlots(block) > 0) blocks.push(block);
    }
    return blocks;
  }

  /** Copies of a block's bytes up to its last observed slot, little-endian as every machine we run on. */
  readBlock(block: number): { readonly values: Buffer; readonly jitterMs: Buffer | null } {
    const place = this.#placeOf(block * BLOCK_SLOTS);
    const slots = this.#usedSlots(block);
    const values = this.#values.subarray(place * this.channels, (place + slots) * this.channels);
    const jitter = this.#jitter?.subarray(place, place + slots);
    const isExact = jitter === undefined || jitter.every((jitterMs: number) => jitterMs === 0);
    return { values: Buffer.from(bytesOf(values)), jitterMs: isExact ? null : Buffer.from(bytesOf(jitter)) };
  }

  /** Puts back what `readBlock` gave; returns false for a block that has left the ring. */
  loadBlock(
    block: number,
    bytes: { readonly values: Uint8Array; readonly jitterMs: Uint8Array | null },
  ): boolean {
    if (block <= this.#newestBlock - this.capacityBlocks) return false;
    if (block > this.#newestBlock || block < this.#oldestBlock) this.#enliven(block);
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

  /** Makes room for a block ahead of the newest or before the oldest, and clears what lies between. */
  #enliven(block: number): void {
    const oldest = Math.max(Math.min(this.#oldestBlock, block), block - this.capacityBlocks + 1);
    if (oldest > this.#newestBlock) {
      // The first block, or a jump over everything that was kept.
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

  /** Slots of the block up to its last observed one. */
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
  // A negative multiple leaves −0, which is not 0 to a strict comparison of stored state.
  return rest < 0 ? rest + divisor : rest + 0;
}

function bytesOf(array: Float64Array | Int32Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
