// A bounded, sorted sample of a baseline's errors: quantiles are read off, and a step forward costs one insertion and one
// removal. Summaries depend on the content only. A running sum would differ in its last bits between a worker that ran
// through and one that was restored.

import type { ErrorSummary } from "../domain.ts";

const fewestSteps = 100;
const mostSteps = 400;

/** Number of last steps whose errors give the band of seasonal naive. */
export function seasonalErrorSteps(season: number): number {
  return Math.min(mostSteps, Math.max(fewestSteps, 2 * season));
}

export class ErrorSample {
  readonly #sorted: Float64Array;
  #count = 0;

  constructor(capacity: number) {
    this.#sorted = new Float64Array(capacity);
  }

  get count(): number {
    return this.#count;
  }

  /** The sample must have room. Pass 0 for −0. */
  insert(error: number): void {
    const at = this.#firstNotBelow(error);
    this.#sorted.copyWithin(at + 1, at, this.#count);
    this.#sorted[at] = error;
    this.#count++;
  }

  /** Removes one copy of an error that is in the sample. */
  remove(error: number): void {
    const at = this.#firstNotBelow(error);
    this.#sorted.copyWithin(at, at + 1, this.#count);
    this.#count--;
  }

  replaceAll(errors: Float64Array): void {
    this.#sorted.set(errors);
    this.#count = errors.length;
    this.#sorted.subarray(0, this.#count).sort();
  }

  summarize(levels: readonly number[]): ErrorSummary {
    const median = this.#quantile(0.5);
    const quantiles = new Array<number>(levels.length);
    for (let l = 0; l < levels.length; l++) quantiles[l] = this.#quantile(levels[l]) - median;
    return { quantiles, rms: this.#rms(), count: this.#count };
  }

  /** Linear between the order statistics on both sides of position level × (count − 1). */
  #quantile(level: number): number {
    const position = level * (this.#count - 1);
    const below = Math.floor(position);
    const above = Math.min(below + 1, this.#count - 1);
    const low = this.#sorted[below];
    // Rounding must not lift a quantile above the next order statistic: quantiles rise with their level.
    return Math.min(low + (this.#sorted[above] - low) * (position - below), this.#sorted[above]);
  }

  #rms(): number {
    let sum = 0;
    for (let i = 0; i < this.#count; i++) sum += this.#sorted[i] * this.#sorted[i];
    return Math.sqrt(sum / this.#count);
  }

  #firstNotBelow(error: number): number {
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#sorted[middle] < error) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
