// What earlier forecasts stated for one slot, and what was observed there. One object is filled for slot after slot and
// passed on as a whole: passing its numbers one by one would cost more than the work on them.

const FIRST_COUNT = 32;
const LARGEST_CODE = 65_535;

export class MaturedSlot {
  #count = 0;
  #channels = 0;
  #levels = 0;
  #quantiles = new Float64Array(0);
  #steps = new Int32Array(0);
  /** Per forecast and channel: the lowest number and the unit of its codes. */
  #scales = new Float64Array(0);
  #actuals = new Float64Array(0);

  /** Number of forecasts. */
  get count(): number {
    return this.#count;
  }

  /** [forecast][channel][level] */
  get quantiles(): Float64Array {
    return this.#quantiles;
  }

  /** One per forecast: steps between origin and slot, 0 for the first. */
  get steps(): Int32Array {
    return this.#steps;
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

  /** Adds a forecast stored as codes, its scale at `scaleAt`. */
  addCodes(step: number, codes: Uint16Array, at: number, scales: Float64Array, scaleAt: number): void {
    const i = this.#next(step);
    const channels = this.#channels;
    const levels = this.#levels;
    for (let c = 0, from = at, to = i * channels * levels; c < channels; c++) {
      const low = scales[scaleAt + 2 * c];
      const unit = scales[scaleAt + 2 * c + 1];
      this.#scales[2 * (i * channels + c)] = low;
      this.#scales[2 * (i * channels + c) + 1] = unit;
      for (let l = 0; l < levels; l++) this.#quantiles[to++] = low + unit * codes[from++];
    }
  }

  /** Adds a forecast as it is: [channel][level]. */
  add(step: number, quantiles: ArrayLike<number>): void {
    const i = this.#next(step);
    this.#scales.fill(0, 2 * i * this.#channels, 2 * (i + 1) * this.#channels);
    this.#quantiles.set(quantiles, i * this.#channels * this.#levels);
  }

  /** Sets what was observed in a channel, relative to the same base as the forecasts. */
  observe(channel: number, value: number): void {
    const channels = this.#channels;
    for (let i = channel; i < this.#count * channels; i += channels)
      this.#actuals[i] = roundTo(this.#scales[2 * i], this.#scales[2 * i + 1], value);
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
    this.#scales = grown(new Float64Array(2 * outputs), this.#scales);
    this.#actuals = new Float64Array(outputs);
  }
}

/** The code nearest to a number, as a number again. A number beyond the codes stays as it is. */
function roundTo(low: number, unit: number, value: number): number {
  if (unit === 0) return value;
  const code = Math.round((value - low) / unit);
  return code < 0 || code > LARGEST_CODE ? value : low + unit * code;
}

function grown<T extends Int32Array | Float64Array>(longer: T, numbers: T): T {
  longer.set(numbers.length > longer.length ? numbers.subarray(0, longer.length) : numbers);
  return longer;
}
