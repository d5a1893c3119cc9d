// Holds one thing that a service opens at its start and closes at its end. A start that hangs is not waited for, so the thing
// may arrive after the end: a sealed resource then closes it at once.

/** Closes gently within `gentleMs`, then by force. */
type Close<T> = (opened: T, gentleMs: number) => void | Promise<void>;

export class Resource<T> {
  readonly #close: Close<T>;
  #opened: T | undefined;
  #isSealed = false;
  #emptying: Promise<void> | undefined;

  constructor(close: Close<T>) {
    this.#close = close;
  }

  get opened(): T | undefined {
    return this.#opened;
  }

  /** Opens and holds it. Throws when the resource is sealed by then. */
  async open(act: () => T | Promise<T>): Promise<T> {
    if (this.#isSealed) throw new Error("the service is ending and opens nothing more");
    const opened = await act();
    if (this.#isSealed) {
      await this.#close(opened, 0);
      throw new Error("it was opened after the end of the service and was closed again");
    }
    this.#opened = opened;
    return opened;
  }

  /** Closes what was opened. Unless sealed, the resource can be opened again. */
  async empty(gentleMs: number): Promise<void> {
    const opened = this.#opened;
    if (opened === undefined) return;
    this.#opened = undefined;
    this.#emptying = Promise.resolve(this.#close(opened, gentleMs));
    await this.#emptying;
  }

  /** From now on nothing is opened or held. */
  seal(): void {
    this.#isSealed = true;
  }

  async close(gentleMs: number): Promise<void> {
    this.seal();
    await this.#emptying;
    if (this.#opened !== undefined) await this.#close(this.#opened, gentleMs);
  }
}
