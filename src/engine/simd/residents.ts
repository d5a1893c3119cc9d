// What stays in the kernel's memory between runs because it is used again: packed nets and tables of noise, found by
// the identity of the array they were made from. The least recently used goes when the budget is spent.

import type { Heap } from "./heap.ts";

interface Resident {
  readonly address: number;
  readonly bytes: number;
  /** What else the content depends on: a plan, or a number of lanes. */
  readonly form: unknown;
}

export class Residents {
  readonly #heap: Heap;
  readonly #budgetBytes: number;
  /** In the order of use, the latest last. */
  readonly #bySource = new Map<Float32Array, Resident>();
  #bytes = 0;

  constructor(heap: Heap, budgetBytes: number) {
    this.#heap = heap;
    this.#budgetBytes = budgetBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * The address of what `source` was made into. `keep` is an address that must not go to make room. `write` fills
   * the new piece of `count` numbers at an address.
   */
  place(
    source: Float32Array,
    form: unknown,
    count: number,
    write: (address: number) => void,
    keep = -1,
  ): number {
    const known = this.#bySource.get(source);
    if (known !== undefined) {
      this.#bySource.delete(source);
      if (known.form === form) {
        this.#bySource.set(source, known);
        return known.address;
      }
      this.#drop(known);
    }
    const bytes = count * Float32Array.BYTES_PER_ELEMENT;
    this.#makeRoom(bytes, keep);
    const address = this.#heap.reserve(bytes);
    write(address);
    this.#bySource.set(source, { address, bytes, form });
    this.#bytes += bytes;
    return address;
  }

  #makeRoom(bytes: number, keep: number): void {
    for (const [source, resident] of this.#bySource) {
      if (this.#bytes + bytes <= this.#budgetBytes) return;
      if (resident.address === keep) continue;
      this.#bySource.delete(source);
      this.#drop(resident);
    }
  }

  #drop({ address, bytes }: Resident): void {
    this.#heap.release(address);
    this.#bytes -= bytes;
  }
}
