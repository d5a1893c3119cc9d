// A shared wake-up. Whoever waits looks again at what it waits for on the next beat; a beat carries no news of
// its own. One pulse serves a whole log: an embedded log has tens of readers, and looking again is cheap.

export class Pulse {
  #next: Promise<void> | undefined;
  #wake: (() => void) | undefined;

  next(): Promise<void> {
    this.#next ??= new Promise((resolve) => {
      this.#wake = resolve;
    });
    return this.#next;
  }

  beat(): void {
    const wake = this.#wake;
    this.#next = undefined;
    this.#wake = undefined;
    wake?.();
  }
}
