// Pieces of work in order of arrival, handed to whichever worker has room. Workers are added while work waits and
// none has room, for as long as the owner gives any.

export interface WorkQueueOptions<W> {
  /** How many pieces a worker holds at a time. */
  readonly perWorker: number;
  /** One more worker, or null when there are to be no more. */
  addWorker(): W | null;
}

interface Piece<W> {
  readonly size: number;
  readonly run: (worker: W) => Promise<void>;
  readonly reject: (error: Error) => void;
}

export class WorkQueue<W> {
  readonly #options: WorkQueueOptions<W>;
  readonly #heldByWorker = new Map<W, number>();
  readonly #pieces: Piece<W>[] = [];
  #refusal: Error | null = null;

  constructor(options: WorkQueueOptions<W>) {
    this.#options = options;
  }

  /** Sum of the sizes of the pieces that nobody has taken. */
  get waiting(): number {
    return this.#pieces.reduce((sum, { size }) => sum + size, 0);
  }

  /** A worker that was added elsewhere. */
  include(worker: W): void {
    if (!this.#heldByWorker.has(worker)) this.#heldByWorker.set(worker, 0);
  }

  add<T>(size: number, work: (worker: W) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = (worker: W) => work(worker).then(resolve, reject);
      this.#pieces.push({ size, run, reject });
      this.#handOut();
    });
  }

  /** Refuses what waits and whatever comes later; what has been handed out goes on. */
  refuse(error: Error): void {
    this.#refusal ??= error;
    this.#handOut();
  }

  #handOut(): void {
    if (this.#refusal !== null) {
      for (const { reject } of this.#pieces.splice(0)) reject(this.#refusal);
      return;
    }
    while (this.#pieces.length > 0) {
      const worker = this.#findRoom();
      if (worker === null) return;
      const { run } = this.#pieces.shift() as Piece<W>;
      this.#hold(worker, 1);
      run(worker).finally(() => {
        this.#hold(worker, -1);
        this.#handOut();
      });
    }
  }

  /** The worker that holds least. A new one is asked for before a second piece is put on one that is at work. */
  #findRoom(): W | null {
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
