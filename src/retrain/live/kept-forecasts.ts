// The forecasts of one series whose future has not all arrived, in typed arrays that grow as needed: of a fleet's
// memory this is the largest part. A forecast has a row, which is free again once its origin is `span` slots old; the
// number of the row is the forecast's place on the state topic, so that a series never has more keys there than rows.
//
// Numbers lie [slot modulo horizon][row][channel][level]: what all forecasts say of one slot is side by side, since that
// is what an observation scores, and a fleet's forecasts are in no cache when it arrives. A row covers `horizon` slots,
// so each of them has its own place.
//
// What is kept grows with the square of the horizon. Beyond MOST_NUMBERS only every n-th origin is kept, the smallest
// n that fits: a slot is then scored in fewer of the forecasts that foresaw it, at leads that vary from slot to slot.

import type { Hindsight } from "../../models/hindsight.ts";

/** `span`: how many slots an origin stays, the horizon and some slots more for late observations. */
export interface KeptShape {
  readonly horizon: number;
  readonly channels: number;
  readonly levels: number;
  readonly span: number;
}

const FIRST_ROWS = 4;
/** Half a megabyte a series. A horizon of 100 steps with nine levels still keeps every origin. */
const MOST_NUMBERS = 128 * 1024;
const EMPTY = Number.NEGATIVE_INFINITY;

export class KeptForecasts {
  readonly shape: KeptShape;
  /** Numbers of a row that are about one slot. */
  readonly cell: number;
  /** Slots between two origins that are kept, at least. */
  readonly stride: number;
  readonly mostRows: number;
  #rows = 0;
  #newestOrigin = EMPTY;
  #origins: Float64Array;
  #quantiles: Float32Array;
  /** Versions of those that are not of the version in force, by row. Null as long as there are none. */
  #strangers: Map<number, string> | null = null;
  #changed: number[] = [];

  constructor(shape: KeptShape) {
    this.shape = shape;
    this.cell = shape.channels * shape.levels;
    const rowNumbers = shape.horizon * this.cell;
    this.stride = Math.ceil(shape.span / Math.max(1, Math.floor(MOST_NUMBERS / rowNumbers)));
    this.mostRows = Math.ceil(shape.span / this.stride);
    this.#origins = new Float64Array(Math.min(FIRST_ROWS, this.mostRows));
    this.#quantiles = new Float32Array(this.#origins.length * rowNumbers);
  }

  /** Rows in use, some of them perhaps empty. */
  get rows(): number {
    return this.#rows;
  }

  /** Valid until the next `keep`. */
  get quantiles(): Float32Array {
    return this.#quantiles;
  }

  get bytes(): number {
    return this.#quantiles.byteLength + this.#origins.byteLength;
  }

  /** −Infinity for an empty row. */
  originOf(row: number): number {
    return row < this.#rows ? this.#origins[row] : EMPTY;
  }

  /** Numbers about one slot, of all rows. */
  get block(): number {
    return this.#origins.length * this.cell;
  }

  /** Where the numbers of row 0 about a slot begin in `quantiles`; those of the next row follow after `cell`. */
  startOf(slot: number): number {
    const { horizon } = this.shape;
    const rest = slot % horizon;
    return (rest < 0 ? rest + horizon : rest) * this.block;
  }

  /** Null when the forecast is of the version in force. */
  strangerAt(row: number): string | null {
    return this.#strangers?.get(row) ?? null;
  }

  /** Finds all forecasts of the version in force that foresaw the slot. */
  lookBack(slot: number, hindsight: Hindsight): void {
    const { horizon, channels } = this.shape;
    const start = this.startOf(slot);
    hindsight.begin(this.#quantiles, channels);
    for (let row = 0; row < this.#rows; row++) {
      const lead = slot - this.#origins[row];
      if (lead < 1 || lead > horizon || (this.#strangers?.has(row) ?? false)) continue;
      hindsight.push(lead - 1, start + row * this.cell);
    }
  }

  /**
   * Returns the new forecast's row, whose numbers the caller writes for all its slots; −1 when this origin is not kept.
   * `stranger`: as `strangerAt`.
   */
  keep(originSlot: number, stranger: string | null): number {
    if (originSlot - this.#newestOrigin < this.stride) return -1;
    const row = this.#freeRow(originSlot - this.shape.span);
    if (!this.#changed.includes(row)) this.#changed.push(row);
    this.load(row, originSlot, stranger);
    return row;
  }

  /** As `keep`, for a forecast that lies in its row on the topic already. */
  load(row: number, originSlot: number, stranger: string | null): void {
    if (row >= this.#origins.length) this.#grow(row + 1);
    if (row >= this.#rows) {
      this.#origins.fill(EMPTY, this.#rows, row);
      this.#rows = row + 1;
    }
    this.#origins[row] = originSlot;
    this.#newestOrigin = Math.max(this.#newestOrigin, originSlot);
    if (stranger !== null) {
      this.#strangers ??= new Map();
      this.#strangers.set(row, stranger);
    } else if (this.#strangers !== null) {
      this.#strangers.delete(row);
    }
  }

  /** The numbers of a row, [level][channel][step], as they are stored. */
  read(row: number, target: Float32Array): void {
    const { horizon, channels, levels } = this.shape;
    const { quantiles, block, cell } = this;
    const outputs = channels * horizon;
    let at = this.startOf(this.#origins[row] + 1) + row * cell;
    for (let h = 0; h < horizon; h++, at += block) {
      if (at >= quantiles.length) at -= quantiles.length;
      for (let c = 0, i = at; c < channels; c++) {
        for (let l = 0, to = c * horizon + h; l < levels; l++, to += outputs) target[to] = quantiles[i++];
      }
    }
  }

  /** Writes a row: of every level, from lowest to highest, [channel][step] less the base of each channel. */
  write(
    row: number,
    stated: readonly { readonly values: ArrayLike<number> }[],
    base: ArrayLike<number>,
  ): void {
    const { horizon, channels, levels } = this.shape;
    const { quantiles, block, cell } = this;
    const start = this.startOf(this.#origins[row] + 1) + row * cell;
    for (let l = 0; l < levels; l++) {
      const { values } = stated[l];
      for (let c = 0, from = 0; c < channels; c++) {
        let at = start + c * levels + l;
        for (let h = 0; h < horizon; h++, at += block) {
          if (at >= quantiles.length) at -= quantiles.length;
          quantiles[at] = values[from++] - base[c];
        }
      }
    }
  }

  /** The rows that hold something. */
  filledRows(): number[] {
    const filled: number[] = [];
    for (let row = 0; row < this.#rows; row++) if (this.#origins[row] !== EMPTY) filled.push(row);
    return filled;
  }

  /** Rows written since the last call. */
  takeChanged(): readonly number[] {
    const changed = this.#changed;
    if (changed.length > 0) this.#changed = [];
    return changed;
  }

  /** A row whose origin is not after `oldest`, or a new one; the oldest of all if there may be no more. */
  #freeRow(oldest: number): number {
    let first = 0;
    for (let row = 0; row < this.#rows; row++) {
      if (this.#origins[row] <= oldest) return row;
      if (this.#origins[row] < this.#origins[first]) first = row;
    }
    return this.#rows < this.mostRows ? this.#rows : first;
  }

  #grow(needed: number): void {
    // Half as much again: an array once grown stays, and most series come to need all rows.
    const roomy = Math.min(this.mostRows, Math.ceil(1.5 * this.#origins.length));
    const rows = Math.max(needed, roomy);
    const origins = new Float64Array(rows);
    origins.set(this.#origins);
    const before = this.block;
    const after = rows * this.cell;
    const quantiles = new Float32Array(this.shape.horizon * after);
    for (let place = 0; place < this.shape.horizon; place++)
      quantiles.set(this.#quantiles.subarray(place * before, (place + 1) * before), place * after);
    this.#origins = origins;
    this.#quantiles = quantiles;
  }
}
