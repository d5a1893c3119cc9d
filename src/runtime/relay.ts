// An iterator that outlives its readers: an item that arrives after a reader has ended goes to the next reader.

export class Relay<T> {
  readonly #open: () => AsyncIterable<T>;
  #iterator: AsyncIterator<T> | null = null;
  #next: Promise<IteratorResult<T>> | null = null;

  constructor(open: () => AsyncIterable<T>) {
    this.#open = open;
  }

  /** Undefined at the end, or if the reader has ended before the next item arrives. */
  async next(reader: { readonly isOver: boolean }): Promise<T | undefined> {
    this.#iterator ??= this.#open()[Symbol.asyncIterator]();
    if (this.#next === null) {
      this.#next = this.#iterator.next();
      this.#next.catch(() => undefined); // The reader gets the error; between two readers there is none.
    }
    const result = await this.#next;
    if (reader.isOver || result.done === true) return undefined;
    this.#next = null;
    return result.value;
  }
}
