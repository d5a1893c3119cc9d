// A stage of the pipeline: items in, items out, one at a time and in order. An async generator would do the same, but while it
// waits it keeps what its variables last held: V8 stores those that are still needed, and leaves earlier values of the others
// where they were. Over all stages and partitions that is a hundred megabytes of batches that were committed long ago.

/** What `step` makes of each item. When `step` fails, the source is closed, and nothing follows. */
export function mapEach<T, U>(
  items: AsyncIterable<T>,
  step: (item: T) => U | Promise<U>,
): AsyncIterableIterator<U> {
  return new Mapped(items[Symbol.asyncIterator](), step);
}

/** Runs `act` on each item, one after the other. */
export async function forEach<T>(items: AsyncIterable<T>, act: (item: T) => Promise<void>): Promise<void> {
  const acts = mapEach(items, act);
  while ((await acts.next()).done !== true);
}

const over = { done: true, value: undefined } as const;

class Mapped<T, U> implements AsyncIterableIterator<U> {
  readonly #source: AsyncIterator<T>;
  readonly #step: (item: T) => U | Promise<U>;
  /** Resolves without a value, because a promise keeps its value. */
  #turn: Promise<unknown> = Promise.resolve();
  #isOver = false;

  constructor(source: AsyncIterator<T>, step: (item: T) => U | Promise<U>) {
    this.#source = source;
    this.#step = step;
  }

  /** May be called again before it resolves; the calls are answered in turn. */
  next(): Promise<IteratorResult<U, undefined>> {
    const result = this.#turn.then(() => this.#next());
    this.#turn = result.then(ignore, ignore);
    return result;
  }

  /** Takes its turn after the calls of `next`. */
  return(): Promise<IteratorResult<U, undefined>> {
    const result = this.#turn.then(() => this.#close());
    this.#turn = result.then(ignore, ignore);
    return result;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #next(): Promise<IteratorResult<U, undefined>> {
    if (this.#isOver) return over;
    try {
      const result = await this.#source.next();
      if (result.done !== true) return { done: false, value: await this.#apply(result.value) };
    } catch (error) {
      this.#isOver = true;
      throw error;
    }
    this.#isOver = true;
    return over;
  }

  async #apply(item: T): Promise<U> {
    try {
      return await this.#step(item);
    } catch (error) {
      await this.#source.return?.();
      throw error;
    }
  }

  async #close(): Promise<IteratorResult<U, undefined>> {
    if (!this.#isOver) await this.#source.return?.();
    this.#isOver = true;
    return over;
  }
}

function ignore(): void {}
