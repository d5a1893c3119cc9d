// The contents of a secret file. Whatever prints it (a log line, JSON, an inspected object) shows asterisks;
// only `reveal` gives the value, to the code that hands it to a client. The file is read anew each time, so that a
// rotated secret holds from the next login on.
import { inspect } from "node:util";

export const mask = "***";

export class Secret {
  readonly #read: () => string;
  #value: string;

  constructor(read: () => string) {
    this.#read = read;
    this.#value = read();
  }

  reveal(): string {
    try {
      this.#value = this.#read() || this.#value;
    } catch {
      // Half way through its replacement, or gone: what it last held is the best there is.
    }
    return this.#value;
  }

  toString(): string {
    return mask;
  }

  toJSON(): string {
    return mask;
  }

  [inspect.custom](): string {
    return mask;
  }
}
