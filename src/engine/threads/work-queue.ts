// A queue of work, handed out in order of arrival to workers with spare capacity. Asks its owner for another worker
// before it gives a busy worker a second item.

interface WorkQueueOptions<W> {
  /** How many items a worker holds at a time. */
  readonly perWorker: number;
  /** One more worker, or null if there are enough. */
  addWorker(): W | null;
}

interface Item<W> {
  readonly size: number;
  readonly run: (worker: W) => Promise<void>;
  readonly reject: (error: Error) => void;
}

export class WorkQueue<W> {
  readonly #options: WorkQueueOptions<W>;
  readonly #heldByWorker = new Map<W, number>();
  readonly #items: Item<W>[] = [];
  #refusal: Error | null = null;

  constructor(options: WorkQueueOptions<W>) {
    this.#options = options;
  }

  /** Sum of the sizes of the items that no worker has. */
  get waiting(): number {
    return this.#items.reduce((sum, { size }) => sum + size, 0);
  }

  /** Adds a worker that the owner created for another reason. */
  include(worker: W): void {
    if (!this.#heldByWorker.has(worker)) this.#heldByWorker.set(worker, 0);
  }

  add<T>(size: number, work: (worker: W) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = (worker: W) => work(worker).then(resolve, reject);
      this.#items.push({ size, run, reject });
      this.#handOut();
    });
  }

  /** Rejects waiting and later items; items with a worker continue. */
  refuse(error: Error): void {
    this.#refusal ??= error;
    this.#handOut();
  }

  #handOut(): void {
    if (this.#refusal !== null) {
      for (const { reject } of this.#items.splice(0)) reject(this.#refusal);
      return;
    }
    while (this.#items.length > 0) {
      const worker = this.#findWorker();
      if (worker === null) return;
      const { run } = this.#items.shift() as Item<W>;
      this.#hold(worker, 1);
      run(worker).finally(() => {
        this.#hold(worker, -1);
        this.#handOut();
      });
    }
  }

  /** The worker that holds least, or a new one if all are busy; null if no worker has spare capacity. */
  #findWorker(): W | null {
    let best: W | null = null;
    let least = this.#options.perWorker;
    for (const [worker, held] of this.#heldByWorker) {
      if (held < least) {
        best = worker;
        least = held;
      }
    }
    if (best !== null && least === 0) return best;
    return this.#options.addWorker() ?? best;
  }

  #hold(worker: W, change: number): void {
    this.#heldByWorker.set(worker, (this.#heldByWorker.get(worker) ?? 0) + change);
  }
}
