// The committed positions of one group.
import type { Subscription } from "../log.ts";
import type { Reader } from "./readers.ts";
import type { MemoryStore } from "./store.ts";

export class Positions {
  readonly #store: MemoryStore;
  readonly #offsetByPartition = new Map<string, number>();

  constructor(store: MemoryStore) {
    this.#store = store;
  }

  set(topic: string, partition: number, offset: number): void {
    this.#offsetByPartition.set(`${topic}/${partition}`, offset);
  }

  /** Readers of this partition number of every input that has it, placed at the committed positions. */
  readers({ inputs, start }: Subscription, partition: number): Reader[] {
    const present = inputs.filter((topic) => partition < this.#store.facts(topic).partitions);
    return present.map((topic) => {
      const source = this.#store.partition(topic, partition);
      const first = start === "earliest" ? 0 : source.endOffset;
      const position = this.#offsetByPartition.get(`${topic}/${partition}`) ?? first;
      // Kept from now on: "latest" means the end as the group first met it, not as each later owner does.
      this.set(topic, partition, position);
      return { topic, partition, source, position };
    });
  }
}
