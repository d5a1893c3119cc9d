// The contents of a secret file. Whatever prints it (a log line, JSON, an inspected object) shows asterisks;
// only `reveal` gives the value, to the code that hands it to a client.
import { inspect } from "node:util";

export const mask = "***";

export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
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
