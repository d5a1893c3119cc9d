// A bounded buffer between two stages. It lets the upstream run ahead of the downstream, so that the next batch is
// computed while the last one is being committed.

interface AheadOptions<T> {
  /** Most items that wait for the downstream. */
  readonly depth: number;
  /** Whether to pull the next items while the downstream works on this one. */
  isWorthwhile(item: T): boolean;
  /** Receives the number of waiting items. */
  onDepth(waiting: number): void;
}

export function ahead<T>(items: AsyncIterable<T>, options: AheadOptions<T>): AsyncIterableIterator<T> {
  return new Ahead(items[Symbol.asyncIterator](), options);
}

/** No generator, which would keep the last item while it waits for the next: see `each.ts`. */
class Ahead<T> implements AsyncIterableIterator<T> {
  readonly #source: AsyncIterator<T>;
  readonly #options: AheadOptions<T>;
  readonly #pulled: Promise<IteratorResult<T>>[] = [];
  #ready = 0;
  #isOver = false;

  constructor(source: AsyncIterator<T>, options: AheadOptions<T>) {
    this.#source = source;
    this.#options = options;
  }

  /** Must not be called again before it resolves. */
  async next(): Promise<IteratorResult<T, undefined>> {
    if (this.#isOver) return { done: true, value: undefined };
    if (this.#pulled.length === 0) this.#pull();
    try {
      const result = await (this.#pulled.shift() as Promise<IteratorResult<T>>);
      this.#options.onDepth(--this.#ready);
      if (result.done === true) return this.return();
      const { depth, isWorthwhile } = this.#options;
      if (isWorthwhile(result.value)) while (this.#pulled.length < depth) this.#pull();
      return { done: false, value: result.value };
    } catch (error) {
      this.return();
      throw error;
    }
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.#isOver = true;
    // Not awaited: it queues behind the pulls, and a quiet input may answer those much later or never.
    this.#source.return?.().catch(() => undefined); // A reader that left early has its own error.
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #pull(): void {
    const next = this.#source.next();
    // A failure is thrown in its turn; until then it must not count as unhandled.
    next.then(
      () => this.#options.onDepth(++this.#ready),
      () => undefined,
    );
    this.#pulled.push(next);
  }
}
