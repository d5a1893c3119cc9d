// A place for one thing that a service opens while it starts and closes when it ends. A start that hangs is not waited
// for, so that a thing may come when its service is already ending: sealed, the place closes it at once, since
// the stop that has passed did not know of it.

/** Closes what was opened; within `gentleMs` gently, then by force. */
export type Close<T> = (opened: T, gentleMs: number) => void | Promise<void>;

export class Resource<T> {
  readonly #close: Close<T>;
  #opened: T | undefined;
  #isSealed = false;

  constructor(close: Close<T>) {
    this.#close = close;
  }

  get opened(): T | undefined {
    return this.#opened;
  }

  /** Opens it and keeps it. Throws when it comes too late, whatever it was. */
  async open(act: () => T | Promise<T>): Promise<T> {
    if (this.#isSealed) throw new Error("nothing is opened any more");
    const opened = await act();
    if (this.#isSealed) {
      await this.#close(opened, 0);
      throw new Error("it was opened too late, and is closed again");
    }
    this.#opened = opened;
    return opened;
  }

  /** From now on nothing is kept. */
  seal(): void {
    this.#isSealed = true;
  }

  async close(gentleMs: number): Promise<void> {
    this.seal();
    if (this.#opened !== undefined) await this.#close(this.#opened, gentleMs);
  }
}
