// The turns at which models are evaluated. Turns that pass while the worker is busy or suspended count as one, taken as soon as
// possible. Turns that pass while the worker is stopped are skipped: the next one after its start is the first.

import type { Clock } from "../runtime/clock.ts";
import { nextRunMs } from "../runtime/cron.ts";

export class EvaluationSchedule {
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

  /** True once when a turn is due; turns that have passed since the last call are one. */
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
