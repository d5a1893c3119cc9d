// The forecasts of one series whose future has not fully arrived, in typed arrays that grow as needed. They are the
// largest part of a fleet's memory. Stored and scored here; what they are worth is computed in rolling-scores.ts and
// calibrator.ts, from the MaturedSlot that `lookBack` fills.
//
// Rows: each forecast has one. A row is free again when its origin is `span` slots old. The row number is part of the
// forecast's key on the state topic, so a series never has more keys there than rows.
//
// Layout: [slot modulo horizon][row][channel][level]. One observation scores what all forecasts state for one slot,
// so those numbers are side by side: no fleet's forecasts fit the processor's cache. A row covers `horizon` slots, so
// no two of its slots share a place.
//
// Memory grows with the square of the horizon. Beyond MOST_NUMBERS only every n-th origin is stored, with the
// smallest n that fits. A slot is then scored in fewer of its forecasts, at leads that differ from slot to slot.

interface PendingShape {
  readonly horizon: number;
  readonly channels: number;
  readonly levels: number;
  /** Slots after which an origin is dropped: the horizon and a few more, for late observations. */
  readonly span: number;
}

const FIRST_ROWS = 4;
/** Half a megabyte per series. A horizon of 100 steps with nine levels still stores every origin. */
const MOST_NUMBERS = 128 * 1024;
const EMPTY = Number.NEGATIVE_INFINITY;

export class PendingForecasts {
  readonly shape: PendingShape;
  /** Numbers that one row holds for one slot. */
  readonly cell: number;
  /** Least number of slots between two stored origins. */
  readonly stride: number;
  readonly mostRows: number;
  #rows = 0;
  #newestOrigin = EMPTY;
  #origins: Float64Array;
  #quantiles: Float32Array;
  /** By row: versions of forecasts that the current version did not make. Null when there are none. */
  #otherVersions: Map<number, string> | null = null;
  #changed: number[] = [];

  constructor(shape: PendingShape) {
    this.shape = shape;
    this.cell = shape.channels * shape.levels;
    const rowNumbers = shape.horizon * this.cell;
    this.stride = Math.ceil(shape.span / Math.max(1, Math.floor(MOST_NUMBERS / rowNumbers)));
    this.mostRows = Math.ceil(shape.span / this.stride);
    this.#origins = new Float64Array(Math.min(FIRST_ROWS, this.mostRows));
    this.#quantiles = new Float32Array(this.#origins.length * rowNumbers);
  }

  /** Rows in use; some of them may be empty. */
  get rows(): number {
    return this.#rows;
  }

  /** Valid until the next `add`. */
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

  /** Numbers that all rows hold for one slot. */
  get block(): number {
    return this.#origins.length * this.cell;
  }

  /** Index in `quantiles` of row 0 of a slot; the next row follows after `cell` numbers. */
  startOf(slot: number): number {
    const { horizon } = this.shape;
    const rest = slot % horizon;
    return (rest < 0 ? rest + horizon : rest) * this.block;
  }

  /** Null when the current version made the forecast. */
  otherVersionAt(row: number): string | null {
    return this.#otherVersions?.get(row) ?? null;
  }

  /** Finds all forecasts of the current version that cover the slot. */
  lookBack(slot: number, matured: MaturedSlot): void {
    const { horizon, channels } = this.shape;
    const start = this.startOf(slot);
    matured.begin(this.#quantiles, channels);
    for (let row = 0; row < this.#rows; row++) {
      const lead = slot - this.#origins[row];
      if (lead < 1 || lead > horizon || (this.#otherVersions?.has(row) ?? false)) continue;
      matured.push(lead - 1, start + row * this.cell);
    }
  }

  /**
   * Returns the row of a new forecast, to be filled with `write`; −1 when this origin is not stored. `otherVersion`:
   * the version that made it, when that is not the current one.
   */
  add(originSlot: number, otherVersion: string | null): number {
    if (originSlot - this.#newestOrigin < this.stride) return -1;
    const row = this.#freeRow(originSlot - this.shape.span);
    if (!this.#changed.includes(row)) this.#changed.push(row);
    this.load(row, originSlot, otherVersion);
    return row;
  }

  /** As `add`, for a forecast that the state topic already holds in this row. */
  load(row: number, originSlot: number, otherVersion: string | null): void {
    if (row >= this.#origins.length) this.#grow(row + 1);
    if (row >= this.#rows) {
      this.#origins.fill(EMPTY, this.#rows, row);
      this.#rows = row + 1;
    }
    this.#origins[row] = originSlot;
    this.#newestOrigin = Math.max(this.#newestOrigin, originSlot);
    if (otherVersion !== null) {
      this.#otherVersions ??= new Map();
      this.#otherVersions.set(row, otherVersion);
    } else if (this.#otherVersions !== null) {
      this.#otherVersions.delete(row);
    }
  }

  /** Copies a row as it is stored on the topic: [level][channel][step]. */
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

  /** Fills a row. `stated` holds, lowest level first, [channel][step]; the base of each channel is subtracted. */
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

  /** The rows that hold a forecast. */
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

  /** A row whose origin is at or before `oldest`, else a new row, else the row of the oldest origin. */
  #freeRow(oldest: number): number {
    let first = 0;
    for (let row = 0; row < this.#rows; row++) {
      if (this.#origins[row] <= oldest) return row;
      if (this.#origins[row] < this.#origins[first]) first = row;
    }
    return this.#rows < this.mostRows ? this.#rows : first;
  }

  #grow(needed: number): void {
    // By half: arrays never shrink, and most series come to need all rows.
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

const FIRST_COUNT = 32;

/**
 * What earlier forecasts stated for one slot, and what was observed there. One object is filled for slot after slot
 * and passed on as a whole: passing its numbers one by one would cost more than the work on them.
 */
export class MaturedSlot {
  #count = 0;
  #quantiles: Float32Array = new Float32Array(0);
  #steps: Int32Array = new Int32Array(FIRST_COUNT);
  #starts: Int32Array = new Int32Array(FIRST_COUNT);
  #actuals = new Float64Array(1);

  /** Number of forecasts. */
  get count(): number {
    return this.#count;
  }

  /** Holds the quantiles of all forecasts. */
  get quantiles(): Float32Array {
    return this.#quantiles;
  }

  /** One per forecast: steps between origin and slot, 0 for the first. */
  get steps(): Int32Array {
    return this.#steps;
  }

  /** One per forecast: index of its quantiles for the slot, [channel][level]. */
  get starts(): Int32Array {
    return this.#starts;
  }

  /** One per channel, in single precision like the quantiles. */
  get actuals(): Float64Array {
    return this.#actuals;
  }

  begin(quantiles: Float32Array, channels: number): void {
    this.#count = 0;
    this.#quantiles = quantiles;
    if (this.#actuals.length < channels) this.#actuals = new Float64Array(channels);
  }

  push(step: number, start: number): void {
    if (this.#count === this.#steps.length) {
      this.#steps = doubled(this.#steps);
      this.#starts = doubled(this.#starts);
    }
    this.#steps[this.#count] = step;
    this.#starts[this.#count++] = start;
  }
}

function doubled(numbers: Int32Array): Int32Array {
  const longer = new Int32Array(2 * numbers.length);
  longer.set(numbers);
  return longer;
}
