// A forecast as bytes, at the precision that scoring needs. This is how pending forecasts are held in memory and on the
// state topic, so a restored series continues with the same numbers.
//
// Fine codes: the quantiles of a channel are counted in a power of two, from the lowest of them, up to 65,535.
// Cells: what the forecast states for one step and channel. The quantile at the median is stored as its fine code, the
// others as their distance from it in 8 bits, counted in a power of two of fine codes that fits the largest distance on
// their side. So a quantile is off by at most a 508th of the width of its side. Rounding keeps the order.
//
// Exact are the median, quantiles equal to it, the lowest and the highest number of the forecast (so bounds, and both
// values of a two-valued series), and all of a cell whose sides are narrower than 255 fine codes. An observation is
// rounded to fine codes, so it equals what it equalled. It is not rounded like the cell: every near miss would count as a hit.
//
// Layout, little-endian. Per channel: the number that code 0 stands for (Float32); the highest fine code (UInt16); the
// power of two that a code counts in (Int16), FLAT when all numbers are equal. Then [step][channel] cells: the code of
// the median (UInt16); the powers of two of the lower (4 bits) and the upper side; one byte for each other level.

/** A forecast in one format for all families: what `encodeRow` makes of it. */
export interface RowShape {
  readonly horizon: number;
  readonly channels: number;
  readonly levels: number;
  /** The index of the level that is stored exactly: the median, or the one nearest to it. */
  readonly median: number;
}

export const HEAD_BYTES = 8;
export const LARGEST_CODE = 65_535;
const FLAT = -32_768;
/** Stands for the lowest number of the forecast below the median, and for the highest above it. */
const OUTERMOST = 255;
const LARGEST_OFFSET = 254;
/** Single precision counts in no smaller one. */
const LEAST_POWER = -149;
const LARGEST = 3.4e38;

const powers = Float64Array.from({ length: 1 - 2 * LEAST_POWER }, (_, i) => 2 ** (i + LEAST_POWER));

export function cellBytes(levels: number): number {
  return levels + 2;
}

export function rowBytes({ horizon, channels, levels }: Omit<RowShape, "median">): number {
  return channels * (HEAD_BYTES + horizon * cellBytes(levels));
}

/** A number less its base, in single precision and never infinite: what forecasts and observations are compared in. */
export function relativeTo(base: number, value: number): number {
  const relative = value - base;
  return Math.fround(relative > LARGEST ? LARGEST : relative < -LARGEST ? -LARGEST : relative);
}

/** The unit of the fine codes of a channel; 0 when all numbers are equal. `head` is the second half of its head. */
export function unitOf(head: number): number {
  const power = head >> 16;
  return power === FLAT ? 0 : powers[power - LEAST_POWER];
}

/** Writes the fine codes of a cell to `target`, lowest level first. */
export function decodeCell(
  { levels, median }: RowShape,
  head: number,
  bytes: Uint8Array,
  at: number,
  target: Float64Array,
  to: number,
): void {
  const top = head & LARGEST_CODE;
  const centre = bytes[at] | (bytes[at + 1] << 8);
  const lower = bytes[at + 2] & 15;
  const upper = bytes[at + 2] >> 4;
  target[to + median] = centre;
  for (let l = 0, from = at + 3; l < median; l++, from++) {
    const offset = bytes[from];
    const code = offset === OUTERMOST ? 0 : centre - (offset << lower);
    target[to + l] = code < 0 ? 0 : code;
  }
  for (let l = median + 1, from = at + 2 + l; l < levels; l++, from++) {
    const offset = bytes[from];
    const code = offset === OUTERMOST ? top : centre + (offset << upper);
    target[to + l] = code > top ? top : code;
  }
}

/** The bytes of a forecast, for one row after the other. */
export class RowScratch {
  readonly shape: RowShape;
  readonly bytes: Uint8Array;
  readonly floats: Float32Array;
  readonly ints: Int32Array;
  /** [level][step] of one channel. */
  readonly #relative: Float64Array;
  readonly #codes: Int32Array;

  constructor(shape: RowShape) {
    this.shape = shape;
    this.bytes = new Uint8Array(rowBytes(shape));
    this.floats = new Float32Array(this.bytes.buffer, 0, 2 * shape.channels);
    this.ints = new Int32Array(this.bytes.buffer, 0, 2 * shape.channels);
    this.#relative = new Float64Array(shape.levels * shape.horizon);
    this.#codes = new Int32Array(shape.levels * shape.horizon);
  }

  /**
   * Encodes the quantiles of a forecast, `stated`: lowest level first, [channel][step]. The base of each channel is
   * subtracted. A level on the wrong side of the median is stored as the median.
   */
  encode(stated: readonly { readonly values: ArrayLike<number> }[], base: ArrayLike<number>): void {
    for (let c = 0; c < this.shape.channels; c++) this.#encodeChannel(c, stated, base[c]);
  }

  #encodeChannel(
    channel: number,
    stated: readonly { readonly values: ArrayLike<number> }[],
    base: number,
  ): void {
    const { horizon, channels, levels } = this.shape;
    const relative = this.#relative;
    const from = channel * horizon;
    let low = LARGEST;
    let high = -LARGEST;
    for (let l = 0, to = 0; l < levels; l++) {
      const { values } = stated[l];
      for (let h = from; h < from + horizon; h++, to++) {
        const value = relativeTo(base, values[h]);
        relative[to] = value;
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
    const power = powerOf(high - low);
    const unit = power === FLAT ? 0 : powers[power - LEAST_POWER];
    const perUnit = power === FLAT ? 0 : powers[-power - LEAST_POWER];
    const lowest = power === FLAT ? low : Math.floor(low * perUnit) * unit;
    const top = ((high - lowest) * perUnit + 0.5) | 0;
    this.floats[2 * channel] = lowest;
    this.ints[2 * channel + 1] = (power << 16) | top;
    const size = cellBytes(levels);
    const start = channels * HEAD_BYTES + channel * size;
    const codes = this.#codes;
    for (let i = 0; i < codes.length; i++) codes[i] = (relative[i] - lowest) * perUnit + 0.5;
    for (let h = 0, at = start; h < horizon; h++, at += channels * size) this.#encodeCell(h, at, top);
  }

  /** From the fine codes of its channel. */
  #encodeCell(h: number, at: number, top: number): void {
    const { horizon, levels, median } = this.shape;
    const { bytes } = this;
    const codes = this.#codes;
    const centre = codes[median * horizon + h];
    let below = 0;
    for (let l = 0, i = h; l < median; l++, i += horizon)
      if (codes[i] !== 0 && centre - codes[i] > below) below = centre - codes[i];
    let above = 0;
    for (let l = median + 1, i = l * horizon + h; l < levels; l++, i += horizon)
      if (codes[i] !== top && codes[i] - centre > above) above = codes[i] - centre;
    const lower = shiftOf(below);
    const upper = shiftOf(above);
    bytes[at] = centre;
    bytes[at + 1] = centre >> 8;
    bytes[at + 2] = lower | (upper << 4);
    let to = at + 3;
    for (let l = 0, i = h, half = (1 << lower) >> 1; l < median; l++, i += horizon) {
      const distance = centre - codes[i];
      bytes[to++] = distance <= 0 ? 0 : codes[i] === 0 ? OUTERMOST : (distance + half) >> lower;
    }
    for (let l = median + 1, i = l * horizon + h, half = (1 << upper) >> 1; l < levels; l++, i += horizon) {
      const distance = codes[i] - centre;
      bytes[to++] = distance <= 0 ? 0 : codes[i] === top ? OUTERMOST : (distance + half) >> upper;
    }
  }
}

/** The least power of two in which a distance is rounded to eight bits. */
function shiftOf(distance: number): number {
  if (distance <= LARGEST_OFFSET) return 0;
  const shift = 24 - Math.clz32(distance);
  return (distance + ((1 << shift) >> 1)) >> shift > LARGEST_OFFSET ? shift + 1 : shift;
}

const doubles = new Float64Array(1);
const words = new Uint32Array(doubles.buffer);

/** The exponent of the least power of two that divides a range into codes, with one to spare for rounding. */
function powerOf(range: number): number {
  if (!(range > 0)) return FLAT;
  doubles[0] = range / (LARGEST_CODE - 1);
  return Math.max(LEAST_POWER, ((words[1] >>> 20) & 0x7ff) - 1022);
}
