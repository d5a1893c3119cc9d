// What earlier forecasts stated for one slot, and what was observed there. One object is filled for slot after slot and
// passed on as a whole: passing its numbers one by one would cost more than the work on them.

import { decodeCell, LARGEST_CODE, type RowShape, unitOf } from "./cell-codes.ts";
import type { Block } from "./series-memory.ts";

const FIRST_COUNT = 32;

export class MaturedSlot {
  #count = 0;
  #channels = 0;
  #levels = 0;
  #quantiles = new Float64Array(0);
  #steps = new Int32Array(0);
  /** Per forecast and channel: what 0 stands for, and what is counted in. */
  #lows = new Float64Array(0);
  #units = new Float64Array(0);
  /** Per forecast and channel: 1 when observations are rounded to whole units. */
  #isRounded = new Uint8Array(0);
  #actuals = new Float64Array(0);

  /** Number of forecasts. */
  get count(): number {
    return this.#count;
  }

  /** [forecast][channel][level], counted in the unit of the forecast. */
  get quantiles(): Float64Array {
    return this.#quantiles;
  }

  /** One per forecast: steps between origin and slot, 0 for the first. */
  get steps(): Int32Array {
    return this.#steps;
  }

  /** [forecast][channel]: what quantiles and actuals are counted in. */
  get units(): Float64Array {
    return this.#units;
  }

  /** [forecast][channel]: what quantiles and actuals are counted from. */
  get lows(): Float64Array {
    return this.#lows;
  }

  /** [forecast][channel]: what was observed, rounded as the forecast is. */
  get actuals(): Float64Array {
    return this.#actuals;
  }

  begin(channels: number, levels: number): void {
    this.#count = 0;
    this.#channels = channels;
    this.#levels = levels;
  }

  /** Adds what a stored forecast states for a step: its cells start at `at`, and its heads at `headAt`. */
  addCells(step: number, shape: RowShape, { floats, ints, bytes }: Block, at: number, headAt: number): void {
    const i = this.#next(step);
    const { channels, levels } = shape;
    for (let c = 0, output = i * channels, from = at; c < channels; c++, output++, from += levels + 2) {
      const head = ints[headAt + 2 * c + 1];
      const unit = unitOf(head);
      this.#lows[output] = floats[headAt + 2 * c];
      this.#isRounded[output] = unit === 0 ? 0 : 1;
      this.#units[output] = unit === 0 ? 1 : unit;
      decodeCell(shape, head, bytes, from, this.#quantiles, output * levels);
    }
  }

  /** Adds a forecast as it is: [channel][level]. */
  add(step: number, quantiles: ArrayLike<number>): void {
    const i = this.#next(step);
    const channels = this.#channels;
    this.#lows.fill(0, i * channels, (i + 1) * channels);
    this.#units.fill(1, i * channels, (i + 1) * channels);
    this.#isRounded.fill(0, i * channels, (i + 1) * channels);
    this.#quantiles.set(quantiles, i * channels * this.#levels);
  }

  /** Sets what was observed in a channel, relative to the same base as the forecasts. */
  observe(channel: number, value: number): void {
    const channels = this.#channels;
    for (let i = channel; i < this.#count * channels; i += channels) {
      const exact = (value - this.#lows[i]) / this.#units[i];
      const code = Math.floor(exact + 0.5);
      // A number beyond the codes stays as it is.
      const isCode = this.#isRounded[i] === 1 && code >= 0 && code <= LARGEST_CODE;
      this.#actuals[i] = isCode ? code : exact;
    }
  }

  #next(step: number): number {
    if (this.#count === this.#steps.length || this.#isShort()) this.#grow();
    this.#steps[this.#count] = step;
    return this.#count++;
  }

  #isShort(): boolean {
    return (this.#count + 1) * this.#channels * this.#levels > this.#quantiles.length;
  }

  #grow(): void {
    const count = Math.max(FIRST_COUNT, 2 * this.#count);
    const outputs = count * this.#channels;
    this.#steps = grown(new Int32Array(count), this.#steps);
    this.#quantiles = grown(new Float64Array(outputs * this.#levels), this.#quantiles);
    this.#lows = grown(new Float64Array(outputs), this.#lows);
    this.#units = grown(new Float64Array(outputs), this.#units);
    this.#isRounded = grown(new Uint8Array(outputs), this.#isRounded);
    this.#actuals = new Float64Array(outputs);
  }
}

function grown<T extends Int32Array | Float64Array | Uint8Array>(longer: T, numbers: T): T {
  longer.set(numbers.length > longer.length ? numbers.subarray(0, longer.length) : numbers);
  return longer;
}
