// Decides when partitions may form batches: all at the same moments, so that their results share a transaction. Records that
// arrive in between share the next one. A moment comes as soon as the last shared transaction has ended and the batch interval
// has passed. So batches grow by themselves on a busy worker, whose transactions take longer.

export class BatchPacer {
  readonly #intervalMs: number;
  readonly #waiting = new Set<() => void>();
  #isOpen = true;
  #isClosing = false;
  #isResting = false;
  #isCommitting = false;

  /** At 0, batches may be formed at any time. */
  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** Whether a batch may be formed now. If not, `retry` is called when it may. */
  tryBegin(retry: () => void): boolean {
    if (this.#intervalMs === 0) return true;
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
      }, this.#intervalMs);
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
