// Decides which requests train at the same time in this process. Requests that were never started share. A request that was
// started and never answered trains alone, because it may have ended its last trainer; if it ends this one, no other request
// is blamed. First come, first served.

interface Waiting {
  readonly isAlone: boolean;
  begin(): void;
}

export class TrainingTurns {
  readonly #queue: Waiting[] = [];
  #running = 0;
  #isOneAlone = false;

  /** Resolves with a function that ends the turn; with null when the signal fires before it has started. */
  take(isAlone: boolean, signal: AbortSignal): Promise<(() => void) | null> {
    if (signal.aborted) return Promise.resolve(null);
    return new Promise((resolve) => {
      const leave = () => {
        this.#queue.splice(this.#queue.indexOf(waiting), 1);
        resolve(null);
        this.#admit();
      };
      const waiting: Waiting = {
        isAlone,
        begin: () => {
          signal.removeEventListener("abort", leave);
          resolve(() => this.#end());
        },
      };
      signal.addEventListener("abort", leave);
      this.#queue.push(waiting);
      this.#admit();
    });
  }

  #admit(): void {
    for (let [next] = this.#queue; next !== undefined && this.#hasRoomFor(next); [next] = this.#queue) {
      this.#queue.shift();
      this.#running++;
      this.#isOneAlone = next.isAlone;
      next.begin();
    }
  }

  #hasRoomFor({ isAlone }: Waiting): boolean {
    return this.#running === 0 || !(isAlone || this.#isOneAlone);
  }

  #end(): void {
    this.#running--;
    this.#admit();
  }
}
