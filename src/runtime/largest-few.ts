// The few items with the largest scores out of very many, without sorting or storing all of them. A heap holds the few,
// with the smallest on top. Items with equal scores keep their order.

interface Entry<T> {
  readonly item: T;
  readonly score: number;
  readonly place: number;
}

export class LargestFew<T> {
  readonly #most: number;
  readonly #heap: Entry<T>[] = [];
  #offered = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Items offered so far. */
  get offered(): number {
    return this.#offered;
  }

  offer(item: T, score: number): void {
    const entry = { item, score, place: this.#offered++ };
    if (this.#heap.length < this.#most) {
      this.#heap.push(entry);
      this.#rise(this.#heap.length - 1);
    } else if (this.#most > 0 && isSmaller(this.#heap[0], entry)) {
      this.#heap[0] = entry;
      this.#sink();
    }
  }

  /** The largest first. */
  items(): readonly T[] {
    return [...this.#heap].sort((one, other) => (isSmaller(one, other) ? 1 : -1)).map(({ item }) => item);
  }

  #rise(from: number): void {
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!isSmaller(this.#heap[at], this.#heap[parent])) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #sink(): void {
    for (let at = 0; ; ) {
      let smallest = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < this.#heap.length && isSmaller(this.#heap[child], this.#heap[smallest])) smallest = child;
      }
      if (smallest === at) return;
      this.#swap(at, smallest);
      at = smallest;
    }
  }

  #swap(one: number, other: number): void {
    [this.#heap[one], this.#heap[other]] = [this.#heap[other], this.#heap[one]];
  }
}

function isSmaller<T>(one: Entry<T>, other: Entry<T>): boolean {
  return one.score < other.score || (one.score === other.score && one.place > other.place);
}
