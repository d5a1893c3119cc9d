// The contents of a secret file. Printing it (in a log line, as JSON, inspected) gives asterisks; only `reveal` returns the
// value. Each call reads the file again, so that a rotated secret is used from the next login on.

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
      // The file is missing or being replaced: use its last contents.
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
