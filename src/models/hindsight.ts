// What earlier forecasts had stated for one slot, and what was observed there. Filled again for every slot: it carries
// all that is to be scored and learnt in one call, since numbers handed over one by one cost more than the work on them.

const FIRST_COUNT = 32;

export class Hindsight {
  #count = 0;
  #quantiles: Float32Array = new Float32Array(0);
  #steps: Int32Array = new Int32Array(FIRST_COUNT);
  #starts: Int32Array = new Int32Array(FIRST_COUNT);
  #actuals = new Float64Array(1);

  /** How many forecasts there are. */
  get count(): number {
    return this.#count;
  }

  /** Where the quantiles of all forecasts lie. */
  get quantiles(): Float32Array {
    return this.#quantiles;
  }

  /** One per forecast: how many steps ahead the slot was, 0 for the first. */
  get steps(): Int32Array {
    return this.#steps;
  }

  /** One per forecast: where its quantiles of the slot begin, channel after channel, level after level. */
  get starts(): Int32Array {
    return this.#starts;
  }

  /** One per channel. In single precision, as the quantiles are. */
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
