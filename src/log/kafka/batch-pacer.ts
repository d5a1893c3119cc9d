// How long a partition waits between two batches. Records that arrive meanwhile share one transaction, which costs the worker
// and its brokers about the same whatever it carries. An idle worker waits for the configured interval. The busier its
// event loop is, the longer it waits: waiting grows as queues do, by 1 / (1 − share of time that the loop is busy).

/** Most times the configured interval that a busy worker waits. */
const LARGEST_FACTOR = 10;

export class BatchPacer {
  readonly #idleMs: number;
  readonly #busyShare: () => number;

  /** `busyShare`: between 0 and 1. */
  constructor(idleMs: number, busyShare: () => number) {
    this.#idleMs = idleMs;
    this.#busyShare = busyShare;
  }

  /** Time from one batch of a partition to the next, unless that is full. */
  get intervalMs(): number {
    if (this.#idleMs === 0) return 0;
    return this.#idleMs * Math.min(LARGEST_FACTOR, 1 / (1 - this.#busyShare()));
  }
}
