// Decides when partitions may form batches: all at the same moments, so that their results share a transaction. Records that
// arrive in between share the next one. A moment comes at the earliest when the last shared transaction has ended and the
// batch interval has passed. The busier the event loop is, the longer that interval: waiting grows as queues do, by
// 1 / (1 − share of time that the loop is busy).

/** Most times the configured interval that a busy worker waits. */
const LARGEST_FACTOR = 10;

export class BatchPacer {
  readonly #idleMs: number;
  readonly #busyShare: () => number;
  readonly #waiting = new Set<() => void>();
  #isOpen = true;
  #isClosing = false;
  #isResting = false;
  #isCommitting = false;

  /** `busyShare`: between 0 and 1. */
  constructor(idleMs: number, busyShare: () => number) {
    this.#idleMs = idleMs;
    this.#busyShare = busyShare;
  }

  /** Whether a batch may be formed now. If not, `retry` is called when it may. */
  tryBegin(retry: () => void): boolean {
    if (this.#idleMs === 0) return true;
    if (!this.#isOpen) {
      this.#waiting.add(retry);
      return false;
    }
    this.#waiting.delete(retry);
    this.#closeSoon();
    return true;
  }

  /** The partition does not wait any more. */
  forget(retry: () => void): void {
    this.#waiting.delete(retry);
  }

  /** A shared transaction has begun. */
  began(): void {
    this.#isCommitting = true;
  }

  ended(): void {
    this.#isCommitting = false;
    this.#openIfDue();
  }

  /** Time from one moment to the next, if no transaction takes longer. */
  get intervalMs(): number {
    return this.#idleMs * Math.min(LARGEST_FACTOR, 1 / (1 - this.#busyShare()));
  }

  /** After this turn of the event loop: the other partitions that have input join in. */
  #closeSoon(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    setImmediate(() => {
      this.#isClosing = false;
      this.#isOpen = false;
      this.#isResting = true;
      setTimeout(() => {
        this.#isResting = false;
        this.#openIfDue();
      }, this.intervalMs);
    });
  }

  #openIfDue(): void {
    if (this.#isResting || this.#isCommitting || this.#isClosing) return;
    this.#isOpen = true;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const retry of waiting) retry();
  }
}
