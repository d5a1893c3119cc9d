// The forecasts of one series whose future has not fully arrived. Stored and scored here; what they are worth is
// computed in rolling-scores.ts and calibrator.ts, from the MaturedSlot that `lookBack` fills.
//
// Rows: a forecast has the row (origin modulo the number of rows). The row is part of its key on the state topic, so a
// series never has more keys there than rows.
//
// Cells: what a forecast states for one step ahead. A step is needed until its slot is `grace` slots old, so step h
// needs a ring of h + grace cells, not of horizon + grace. That halves the memory, the largest part of a fleet's.
// Layout: [step][origin modulo ring][channel][level].
//
// Codes: a forecast is stored as 16-bit multiples of a power of two, counted from its lowest number, per channel.
// Observations are rounded in the same way before they are compared, so that what was equal stays equal.
//
// Memory still grows with the square of the horizon. Beyond MOST_CODES only one origin in n is stored, with the smallest
// n that fits. A slot is then scored in fewer of its forecasts, at leads that differ from slot to slot.

import type { MaturedSlot } from "./matured-slot.ts";

export interface PendingShape {
  readonly horizon: number;
  readonly channels: number;
  readonly levels: number;
  /** Slots for which a step stays pending after its own slot. */
  readonly grace: number;
}

/** Where the cells are; shared by all series of a shape. */
interface Layout {
  /** One origin in as many slots is stored. */
  readonly stride: number;
  readonly rows: number;
  /** One per step: number of its first cell, and length of its ring. */
  readonly first: Int32Array;
  readonly ring: Int32Array;
  readonly cells: number;
}

/** Half a megabyte per series. A horizon of 160 steps with nine levels still stores every origin. */
const MOST_CODES = 256 * 1024;
const LARGEST_CODE = 65_535;
const EMPTY = Number.NEGATIVE_INFINITY;
/** Below it no power of two divides a range into codes. */
const LEAST_RANGE = 1e-290;
const LARGEST = 3.4e38;

/** A forecast as it is stored on the topic. */
export interface PendingRow {
  readonly originSlot: number;
  /** The version that made it, when that is not the current one. */
  readonly otherVersion: string | null;
  /** Per channel: the lowest number, and what a code counts in. */
  readonly scales: Float64Array;
  /** [step][channel][level] */
  readonly codes: Uint16Array;
}

export class PendingForecasts {
  readonly shape: PendingShape;
  readonly #layout: Layout;
  /** Codes of one cell. */
  readonly #cell: number;
  /** Per row: the origin, then the lowest number and the unit of each channel. */
  readonly #heads: Float64Array;
  readonly #codes: Uint16Array;
  #newestOrigin = EMPTY;
  /** By row: versions of forecasts that the current version did not make. Null when there are none. */
  #otherVersions: Map<number, string> | null = null;
  #changed: number[] = [];

  constructor(shape: PendingShape) {
    this.shape = shape;
    this.#layout = layoutOf(shape);
    this.#cell = shape.channels * shape.levels;
    this.#heads = new Float64Array(this.#layout.rows * this.#headSize);
    this.#codes = new Uint16Array(this.#layout.cells * this.#cell);
    for (let row = 0; row < this.#layout.rows; row++) this.#heads[row * this.#headSize] = EMPTY;
  }

  get rows(): number {
    return this.#layout.rows;
  }

  get stride(): number {
    return this.#layout.stride;
  }

  get bytes(): number {
    return this.#codes.byteLength + this.#heads.byteLength;
  }

  get newestOrigin(): number {
    return this.#newestOrigin;
  }

  /** −Infinity for an empty row, and for one that no forecast can have. */
  originOf(row: number): number {
    return row < this.rows ? this.#heads[row * this.#headSize] : EMPTY;
  }

  rowOf(originSlot: number): number {
    return modulo(this.#groupOf(originSlot), this.#layout.rows);
  }

  /** Finds all forecasts of the current version that cover the slot. */
  lookBack(slot: number, matured: MaturedSlot): void {
    const { horizon, channels, levels, grace } = this.shape;
    const { first, ring, rows, stride } = this.#layout;
    matured.begin(channels, levels);
    if (slot <= this.#newestOrigin - grace) return;
    for (let h = 1; h <= horizon; h++) {
      const origin = slot - h;
      const group = stride === 1 ? origin : Math.floor(origin / stride);
      const row = modulo(group, rows);
      const head = row * this.#headSize;
      if (this.#heads[head] !== origin || (this.#otherVersions?.has(row) ?? false)) continue;
      const cell = first[h - 1] + modulo(group, ring[h - 1]);
      matured.addCodes(h - 1, this.#codes, cell * this.#cell, this.#heads, head + 1);
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
    const row = this.#begin(originSlot, otherVersion);
    for (let c = 0; c < this.shape.channels; c++) this.#encode(originSlot, c, stated, base[c]);
    this.markChanged(row);
    return row;
  }

  /** Takes a forecast back from the topic. Forecasts have to come in the order of their origins. */
  load({ originSlot, otherVersion, scales, codes }: PendingRow): void {
    const row = this.#begin(originSlot, otherVersion);
    this.#heads.set(scales, row * this.#headSize + 1);
    for (let h = 0; h < this.shape.horizon; h++)
      this.#codes.set(codes.subarray(h * this.#cell, (h + 1) * this.#cell), this.#cellOf(originSlot, h));
  }

  /** Null for an empty row. Valid until the next call. */
  read(row: number): PendingRow | null {
    const originSlot = this.originOf(row);
    if (originSlot === EMPTY) return null;
    const head = row * this.#headSize;
    const codes = rowCodes(this.shape.horizon * this.#cell);
    for (let h = 0, to = 0; h < this.shape.horizon; h++) {
      const from = this.#cellOf(originSlot, h);
      for (let i = 0; i < this.#cell; i++) codes[to++] = this.#codes[from + i];
    }
    return {
      originSlot,
      otherVersion: this.#otherVersions?.get(row) ?? null,
      scales: this.#heads.subarray(head + 1, head + this.#headSize),
      codes,
    };
  }

  /** The rows that hold a forecast. */
  filledRows(): number[] {
    const filled: number[] = [];
    for (let row = 0; row < this.rows; row++) if (this.originOf(row) !== EMPTY) filled.push(row);
    return filled;
  }

  markChanged(row: number): void {
    if (!this.#changed.includes(row)) this.#changed.push(row);
  }

  /** Rows written since the last call. */
  takeChanged(): readonly number[] {
    const changed = this.#changed;
    if (changed.length > 0) this.#changed = [];
    return changed;
  }

  get #headSize(): number {
    return 1 + 2 * this.shape.channels;
  }

  #groupOf(originSlot: number): number {
    return this.#layout.stride === 1 ? originSlot : Math.floor(originSlot / this.#layout.stride);
  }

  /** Index of the codes of a step, 0 for the first. */
  #cellOf(originSlot: number, step: number): number {
    const { first, ring } = this.#layout;
    return (first[step] + modulo(this.#groupOf(originSlot), ring[step])) * this.#cell;
  }

  #begin(originSlot: number, otherVersion: string | null): number {
    const row = this.rowOf(originSlot);
    this.#heads[row * this.#headSize] = originSlot;
    this.#newestOrigin = Math.max(this.#newestOrigin, originSlot);
    if (otherVersion !== null) {
      this.#otherVersions ??= new Map();
      this.#otherVersions.set(row, otherVersion);
    } else if (this.#otherVersions !== null) {
      this.#otherVersions.delete(row);
    }
    return row;
  }

  #encode(
    originSlot: number,
    channel: number,
    stated: readonly { readonly values: ArrayLike<number> }[],
    base: number,
  ): void {
    const { horizon, levels } = this.shape;
    const from = channel * horizon;
    let low = LARGEST;
    let high = -LARGEST;
    for (let l = 0; l < levels; l++) {
      const { values } = stated[l];
      for (let h = 0; h < horizon; h++) {
        const value = values[from + h];
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
    const unit = unitOf(relativeTo(base, low), relativeTo(base, high));
    const lowest = unit === 0 ? relativeTo(base, low) : Math.floor(relativeTo(base, low) / unit) * unit;
    const head = this.rowOf(originSlot) * this.#headSize + 1 + 2 * channel;
    this.#heads[head] = lowest;
    this.#heads[head + 1] = unit;
    const perUnit = unit === 0 ? 0 : 1 / unit;
    for (let h = 0; h < horizon; h++) {
      const to = this.#cellOf(originSlot, h) + channel * levels;
      for (let l = 0; l < levels; l++) {
        const value = relativeTo(base, stated[l].values[from + h]);
        this.#codes[to + l] = Math.round((value - lowest) * perUnit);
      }
    }
  }
}

/** A number less its base, in single precision and never infinite: what forecasts and observations are compared in. */
export function relativeTo(base: number, value: number): number {
  return Math.fround(Math.max(-LARGEST, Math.min(LARGEST, value - base)));
}

const doubles = new Float64Array(1);
const words = new Uint32Array(doubles.buffer);

/** The least power of two that divides a range into codes, with one to spare for rounding; 0 for a range of nothing. */
function unitOf(low: number, high: number): number {
  const range = high - low;
  if (!(range > LEAST_RANGE)) return 0;
  doubles[0] = range / (LARGEST_CODE - 1);
  // Clears the mantissa, which leaves the power of two below; the one above is the unit.
  words[0] = 0;
  words[1] &= 0xfff00000;
  return 2 * doubles[0];
}

const layoutByShape = new Map<string, Layout>();

function layoutOf({ horizon, channels, levels, grace }: PendingShape): Layout {
  const name = `${horizon} ${channels} ${levels} ${grace}`;
  let layout = layoutByShape.get(name);
  if (layout === undefined) {
    const most = Math.max(horizon, Math.floor(MOST_CODES / (channels * levels)));
    let stride = 1;
    layout = layoutWith(horizon, grace, stride);
    while (layout.cells > most && stride < horizon + grace) layout = layoutWith(horizon, grace, ++stride);
    layoutByShape.set(name, layout);
  }
  return layout;
}

function layoutWith(horizon: number, grace: number, stride: number): Layout {
  const first = new Int32Array(horizon);
  const ring = new Int32Array(horizon);
  let cells = 0;
  for (let h = 1; h <= horizon; h++) {
    first[h - 1] = cells;
    ring[h - 1] = Math.ceil((h + grace - 1) / stride) + 1;
    cells += ring[h - 1];
  }
  return { stride, rows: ring[horizon - 1], first, ring, cells };
}

function modulo(value: number, divisor: number): number {
  const rest = value % divisor;
  return rest < 0 ? rest + divisor : rest;
}

const codesByLength = new Map<number, Uint16Array>();

/** Memory that the next row uses again: an array per record would keep the garbage collector busy. */
function rowCodes(length: number): Uint16Array {
  let codes = codesByLength.get(length);
  if (codes === undefined) {
    codes = new Uint16Array(length);
    codesByLength.set(length, codes);
  }
  return codes;
}
