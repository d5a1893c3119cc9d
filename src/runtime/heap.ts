// A queue that gives its items in order, not in the order of their arrival. Adding one and taking one cost a few comparisons
// each, however many wait. Equal items come in the order of their arrival.

interface Entry<T> {
  readonly item: T;
  readonly place: number;
}

export class Heap<T> {
  readonly #compare: (one: T, other: T) => number;
  readonly #entries: Entry<T>[] = [];
  #added = 0;

  /** `compare` is negative when the first item comes first. */
  constructor(compare: (one: T, other: T) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#entries.length;
  }

  /** The item that comes first. */
  get first(): T | undefined {
    return this.#entries[0]?.item;
  }

  /** In no particular order. */
  items(): readonly T[] {
    return this.#entries.map(({ item }) => item);
  }

  add(item: T): void {
    const entry = { item, place: this.#added++ };
    let at = this.#entries.length;
    for (let parent = (at - 1) >> 1; at > 0 && this.#isBefore(entry, this.#entries[parent]); ) {
      this.#entries[at] = this.#entries[parent];
      at = parent;
      parent = (at - 1) >> 1;
    }
    this.#entries[at] = entry;
  }

  take(): T | undefined {
    const [first] = this.#entries;
    const last = this.#entries.pop();
    if (last !== undefined && this.#entries.length > 0) this.#sink(last);
    return first?.item;
  }

  #sink(entry: Entry<T>): void {
    const entries = this.#entries;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child + 1 < entries.length && this.#isBefore(entries[child + 1], entries[child])) child++;
      if (child >= entries.length || !this.#isBefore(entries[child], entry)) break;
      entries[at] = entries[child];
      at = child;
    }
    entries[at] = entry;
  }

  #isBefore(one: Entry<T>, other: Entry<T>): boolean {
    const order = this.#compare(one.item, other.item);
    return order < 0 || (order === 0 && one.place < other.place);
  }
}
