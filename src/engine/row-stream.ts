// The order in which a net meets its training rows: shuffled anew each time all have been met, from a seed.

import { createRandom, type Random } from "../runtime/random.ts";

export class RowStream {
  readonly #order: Int32Array;
  readonly #random: Random;
  #next: number;

  constructor(count: number, seed: number) {
    this.#order = Int32Array.from({ length: count }, (_, row) => row);
    this.#random = createRandom(seed);
    this.#next = count;
  }

  /** The next rows, as many as asked for, or fewer when `isBounded` and the round through all rows ends. */
  take(count: number, isBounded: boolean): Int32Array {
    const rows = new Int32Array(count);
    for (let i = 0; i < count; i++) {
      if (this.#next === this.#order.length) {
        if (isBounded && i > 0) return rows.subarray(0, i);
        this.#shuffle();
      }
      rows[i] = this.#order[this.#next++];
    }
    return rows;
  }

  #shuffle(): void {
    const order = this.#order;
    for (let i = order.length - 1; i > 0; i--) {
      const j = Math.floor(this.#random.uniform() * (i + 1));
      [order[i], order[j]] = [order[j], order[i]];
    }
    this.#next = 0;
  }
}
