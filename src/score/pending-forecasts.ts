// The forecasts of one series whose future has not fully arrived. Stored and scored here; what they are worth is
// computed in rolling-scores.ts and calibrator.ts, from the MaturedSlot that `lookBack` fills.
//
// Rows: on the state topic a forecast has the row (origin modulo the number of rows). The row is part of its key, so a
// series never has more keys there than rows. Fewer forecasts are in memory: those that can still be scored.
//
// Cells: what a forecast states for one step ahead (cell-codes.ts). A step is needed until its slot is `grace` slots old,
// so step h needs a ring of h + grace cells, not of horizon + grace. That halves the memory, the largest part of a fleet's.
// Layout: a head per forecast, then [step][origin modulo ring] cells of all channels, then a bit per row.
//
// Memory still grows with the square of the horizon. Beyond MOST_BYTES only one origin in n is stored, with the smallest
// n that fits. A slot is then scored in fewer of its forecasts, at leads that differ from slot to slot.

import { cellBytes, HEAD_BYTES, RowScratch, type RowShape, rowBytes } from "./cell-codes.ts";
import type { MaturedSlot } from "./matured-slot.ts";
import { type Block, type Place, placeAlone } from "./series-memory.ts";

export interface PendingShape extends RowShape {
  /** Slots for which a step can be scored after its own slot. */
  readonly grace: number;
  /** Slots for which a forecast stays on the state topic after its last step; at least `grace`. */
  readonly kept: number;
}

/** Where everything is; shared by all series of a shape. */
interface Layout {
  readonly shape: PendingShape;
  /** One origin in as many slots is stored. */
  readonly stride: number;
  /** Keys on the state topic. */
  readonly rows: Ring;
  /** Forecasts in memory. */
  readonly heads: Ring;
  /** One per step: number of its first cell, length of its ring, and the reciprocal of that. */
  readonly first: Int32Array;
  readonly lengths: Float64Array;
  readonly reciprocals: Float64Array;
  /** Of the rings, one after the other: the cell of each place. */
  readonly cellAt: Int32Array;
  readonly cells: number;
  /** Of the cells of all channels. */
  readonly cellBytes: number;
  /** Of a head, in numbers of four bytes: the origin, modulo 2^32, and the head of each channel. */
  readonly headSize: number;
  readonly cellsAt: number;
  readonly bitsAt: number;
  readonly bytes: number;
  readonly scratch: RowScratch;
}

/** Per series. A horizon of 200 steps with nine levels still stores every origin. */
const MOST_BYTES = 320 * 1024;
const EMPTY = Number.NEGATIVE_INFINITY;
/** In place of the first channel's codes: no forecast yet. */
const NO_HEAD = 0x7fff_0000;

/** A forecast as it is stored on the topic. */
export interface PendingRow {
  readonly originSlot: number;
  /** The version that made it, when that is not the current one. */
  readonly otherVersion: string | null;
  /** As in cell-codes.ts. */
  readonly bytes: Uint8Array;
}

export class PendingForecasts {
  readonly #layout: Layout;
  readonly #block: Block;
  readonly #at: number;
  #newestOrigin = EMPTY;
  /** By head: versions of forecasts that the current version did not make. Null when there are none. */
  #otherVersions: Map<number, string> | null = null;
  #changed: number[] | null = null;

  /** Bytes that `place` must have. */
  static bytesOf(shape: PendingShape): number {
    return layoutOf(shape).bytes;
  }

  constructor(shape: PendingShape, place: Place = placeAlone(layoutOf(shape).bytes)) {
    const layout = layoutOf(shape);
    this.#layout = layout;
    this.#block = place.block;
    this.#at = place.at;
    const { headSize, heads } = layout;
    for (let i = 0, at = (place.at >> 2) + 2; i < heads.length; i++, at += headSize)
      place.block.ints[at] = NO_HEAD;
  }

  get shape(): PendingShape {
    return this.#layout.shape;
  }

  get rows(): number {
    return this.#layout.rows.length;
  }

  get stride(): number {
    return this.#layout.stride;
  }

  get newestOrigin(): number {
    return this.#newestOrigin;
  }

  rowOf(originSlot: number): number {
    return placeIn(this.#layout.rows, this.#groupOf(originSlot));
  }

  /** Finds all forecasts of the current version that cover the slot. */
  lookBack(slot: number, matured: MaturedSlot): void {
    const { shape } = this;
    const { horizon, channels, levels, grace } = shape;
    const {
      first,
      lengths,
      reciprocals,
      cellAt,
      heads,
      stride,
      headSize,
      cellsAt,
      cellBytes: size,
    } = this.#layout;
    const block = this.#block;
    const { ints } = block;
    const others = this.#otherVersions;
    const headsAt = this.#at >> 2;
    matured.begin(channels, levels);
    if (slot <= this.#newestOrigin - grace) return;
    for (let h = 1; h <= horizon; h++) {
      const origin = slot - h;
      const group = stride === 1 ? origin : Math.floor(origin / stride);
      const place = placeIn(heads, group);
      const head = headsAt + place * headSize;
      if (ints[head] !== (origin | 0) || ints[head + 2] === NO_HEAD) continue;
      if (others?.has(place)) continue;
      const cell = cellAt[first[h - 1] + placeOf(group, lengths[h - 1], reciprocals[h - 1])];
      matured.addCells(h - 1, shape, block, this.#at + cellsAt + cell * size, head + 1);
    }
  }

  /**
   * Stores a forecast; returns its row, −1 when this origin is not stored. `stated` holds, lowest level first,
   * [channel][step]; the base of each channel is subtracted. `otherVersion`: the version that made it, when that is not
   * the current one.
   */
  add(
    originSlot: number,
    stated: readonly { readonly values: ArrayLike<number> }[],
    base: ArrayLike<number>,
    otherVersion: string | null,
  ): number {
    if (this.#groupOf(originSlot) <= this.#groupOf(this.#newestOrigin)) return -1;
    const { scratch } = this.#layout;
    scratch.encode(stated, base);
    const row = this.#put(originSlot, otherVersion, scratch);
    this.markChanged(row);
    return row;
  }

  /** The bytes of the last `add`. Valid until the next one, of any series. */
  get added(): Uint8Array {
    return this.#layout.scratch.bytes;
  }

  /** Takes a forecast back from the topic. Forecasts have to come in the order of their origins. */
  load({ originSlot, otherVersion, bytes }: PendingRow): void {
    const { scratch } = this.#layout;
    scratch.bytes.set(bytes);
    this.#put(originSlot, otherVersion, scratch);
  }

  /** Null for a row whose forecast can no longer be scored, and for an empty row. Valid until the next `add`. */
  read(row: number): PendingRow | null {
    const { scratch, heads, headSize, cellBytes: size } = this.#layout;
    const { ints, bytes } = this.#block;
    const originSlot = this.#newestIn(row);
    if (originSlot === EMPTY) return null;
    const place = placeIn(heads, this.#groupOf(originSlot));
    const head = (this.#at >> 2) + place * headSize;
    scratch.ints.set(ints.subarray(head + 1, head + headSize));
    for (let h = 0, to = scratch.ints.byteLength; h < this.shape.horizon; h++, to += size) {
      const from = this.#cellOf(originSlot, h);
      for (let i = 0; i < size; i++) scratch.bytes[to + i] = bytes[from + i];
    }
    return {
      originSlot,
      otherVersion: this.#otherVersions?.get(place) ?? null,
      bytes: scratch.bytes,
    };
  }

  /** The rows that hold a forecast on the topic, or will with the next batch. */
  filledRows(): number[] {
    const { bytes } = this.#block;
    const bitsAt = this.#at + this.#layout.bitsAt;
    const filled: number[] = [];
    for (let row = 0; row < this.rows; row++)
      if ((bytes[bitsAt + (row >> 3)] >> (row & 7)) & 1) filled.push(row);
    return filled;
  }

  markChanged(row: number): void {
    this.#changed ??= [];
    if (!this.#changed.includes(row)) this.#changed.push(row);
  }

  /** Rows written since the last call. */
  takeChanged(): readonly number[] {
    const changed = this.#changed ?? none;
    this.#changed = null;
    return changed;
  }

  #groupOf(originSlot: number): number {
    return this.#layout.stride === 1 ? originSlot : Math.floor(originSlot / this.#layout.stride);
  }

  /** The newest origin in memory that has this row; −Infinity for none. */
  #newestIn(row: number): number {
    const { rows, heads, stride, headSize } = this.#layout;
    const { ints } = this.#block;
    const newest = this.#newestOrigin;
    if (newest === EMPTY || row >= rows.length) return EMPTY;
    const newestGroup = this.#groupOf(newest);
    const group = newestGroup - placeIn(rows, newestGroup - row);
    if (newestGroup - group >= heads.length) return EMPTY;
    const head = (this.#at >> 2) + placeIn(heads, group) * headSize;
    const origin = newest - ((newest - ints[head]) >>> 0);
    const isThere = ints[head + 2] !== NO_HEAD && Math.floor(origin / stride) === group;
    return isThere ? origin : EMPTY;
  }

  /** Index of the bytes of a step, 0 for the first. */
  #cellOf(originSlot: number, step: number): number {
    const { first, lengths, reciprocals, cellAt, cellsAt, cellBytes: size } = this.#layout;
    const place = placeOf(this.#groupOf(originSlot), lengths[step], reciprocals[step]);
    return this.#at + cellsAt + cellAt[first[step] + place] * size;
  }

  #put(originSlot: number, otherVersion: string | null, scratch: RowScratch): number {
    const {
      heads,
      headSize,
      first,
      lengths,
      reciprocals,
      cellAt,
      cellsAt,
      bitsAt,
      cellBytes: size,
    } = this.#layout;
    const { ints, bytes } = this.#block;
    const group = this.#groupOf(originSlot);
    const row = this.rowOf(originSlot);
    const place = placeIn(heads, group);
    const head = (this.#at >> 2) + place * headSize;
    ints[head] = originSlot | 0;
    for (let i = 1; i < headSize; i++) ints[head + i] = scratch.ints[i - 1];
    const source = scratch.bytes;
    const start = this.#at + cellsAt;
    for (let h = 0, from = (headSize - 1) * 4; h < first.length; h++) {
      const to = start + cellAt[first[h] + placeOf(group, lengths[h], reciprocals[h])] * size;
      for (let i = 0; i < size; i++) bytes[to + i] = source[from++];
    }
    bytes[this.#at + bitsAt + (row >> 3)] |= 1 << (row & 7);
    this.#newestOrigin = Math.max(this.#newestOrigin, originSlot);
    if (otherVersion !== null) {
      this.#otherVersions ??= new Map();
      this.#otherVersions.set(place, otherVersion);
    } else if (this.#otherVersions !== null) {
      this.#otherVersions.delete(place);
    }
    return row;
  }
}

const none: readonly number[] = [];

const layoutByShape = new Map<string, Layout>();

function layoutOf(shape: PendingShape): Layout {
  const { horizon, channels, levels, median, grace, kept } = shape;
  const name = `${horizon} ${channels} ${levels} ${median} ${grace} ${kept}`;
  let layout = layoutByShape.get(name);
  if (layout === undefined) {
    let stride = 1;
    layout = layoutWith(shape, stride);
    const most = Math.max(rowBytes(shape), MOST_BYTES);
    while (layout.bytes > most && stride < horizon + grace) layout = layoutWith(shape, ++stride);
    layoutByShape.set(name, layout);
  }
  return layout;
}

function layoutWith(shape: PendingShape, stride: number): Layout {
  const { horizon, channels, levels, grace, kept } = shape;
  const first = new Int32Array(horizon);
  const rings: Ring[] = [];
  let cells = 0;
  for (let h = 1; h <= horizon; h++) {
    first[h - 1] = cells;
    rings.push(ringFor(h + grace, stride));
    cells += rings[h - 1].length;
  }
  const heads = rings[horizon - 1];
  const rows = ringFor(horizon + kept, stride);
  const headSize = 1 + (channels * HEAD_BYTES) / 4;
  const cellsAt = heads.length * headSize * 4;
  const bitsAt = cellsAt + cells * channels * cellBytes(levels);
  return {
    shape,
    stride,
    rows,
    heads,
    first,
    lengths: Float64Array.from(rings, ({ length }) => length),
    reciprocals: Float64Array.from(rings, ({ reciprocal }) => reciprocal),
    cellAt: Int32Array.from(
      rings.flatMap(({ length }, h) => neighbours(length, grace).map((i) => first[h] + i)),
    ),
    cells,
    cellBytes: channels * cellBytes(levels),
    headSize,
    cellsAt,
    bitsAt,
    bytes: bitsAt + Math.ceil(rows.length / 8),
    scratch: new RowScratch(shape),
  };
}

/**
 * The order of a ring's cells in memory. An observation reads step h of the forecast h slots ago, and its own forecast
 * then writes step h `grace` places before. In this order the two are neighbours, mostly in one line of the cache.
 */
function neighbours(length: number, grace: number): number[] {
  const cells = new Array<number>(length).fill(-1);
  let next = 0;
  for (let from = 0; from < length; from++)
    for (let place = from; cells[place] < 0; place = (place + grace) % length) cells[place] = next++;
  return cells;
}

/** Places that are used again and again. The reciprocal spares a division, which takes longer than all else in a cell. */
interface Ring {
  readonly length: number;
  readonly reciprocal: number;
}

function ringFor(slots: number, stride: number): Ring {
  const length = Math.ceil((slots - 1) / stride) + 1;
  return { length, reciprocal: 1 / length };
}

function placeIn({ length, reciprocal }: Ring, number: number): number {
  return placeOf(number, length, reciprocal);
}

/** The number modulo the length. */
function placeOf(number: number, length: number, reciprocal: number): number {
  const rest = number - Math.floor(number * reciprocal) * length;
  return rest < 0 ? rest + length : rest < length ? rest : rest - length;
}
