// Limits the processor time that trainings take: a bucket that fills evenly and holds an hour's worth. A training may start while
// there is something in it, and what it really took is drained afterwards, so a long training delays the next ones.

import type { Clock } from "../runtime/clock.ts";

const hourMs = 3_600_000;

export class TrainingBudget {
  readonly #clock: Clock;
  readonly #perHour: number;
  #left: number;
  #atMs: number;

  /** 0 seconds per hour mean no limit. */
  constructor(clock: Clock, cpuSecondsPerHour: number) {
    this.#clock = clock;
    this.#perHour = cpuSecondsPerHour === 0 ? Number.POSITIVE_INFINITY : cpuSecondsPerHour;
    this.#left = this.#perHour;
    this.#atMs = clock.nowMs();
  }

  /** CPU seconds that may be spent now; below 0 after a training that took more than was left. */
  get left(): number {
    const nowMs = this.#clock.nowMs();
    if (this.#perHour !== Number.POSITIVE_INFINITY) {
      const earned = (this.#perHour * Math.max(0, nowMs - this.#atMs)) / hourMs;
      this.#left = Math.min(this.#perHour, this.#left + earned);
    }
    this.#atMs = nowMs;
    return this.#left;
  }

  spend(cpuSeconds: number): void {
    this.#left = this.left - cpuSeconds;
  }
}
