// When it is time to look at the models again. A turn that was missed, because the worker was away or busy, is made
// up for once and not piled up.

import type { Clock } from "../runtime/clock.ts";
import { nextRunMs } from "../runtime/cron.ts";

export class Schedule {
  readonly #expression: string;
  readonly #clock: Clock;
  #nextMs: number;

  constructor(expression: string, clock: Clock) {
    this.#expression = expression;
    this.#clock = clock;
    this.#nextMs = this.#after(clock.nowMs());
  }

  get nextMs(): number {
    return this.#nextMs;
  }

  /** True once for every turn that has come; however many have passed since, they are one. */
  takeTurn(): boolean {
    const nowMs = this.#clock.nowMs();
    if (nowMs < this.#nextMs) return false;
    this.#nextMs = this.#after(nowMs);
    return true;
  }

  #after(ms: number): number {
    return nextRunMs(this.#expression, ms) ?? Number.POSITIVE_INFINITY;
  }
}
