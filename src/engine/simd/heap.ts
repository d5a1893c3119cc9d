// Pieces of the kernel's memory: first fit, neighbours joined again when they are given back. The memory grows when
// nothing fits and never shrinks.

import { ForecastnetError } from "../../runtime/errors.ts";

const PAGE = 65_536;
const ALIGNMENT = 64;
/** Below it lies what the compiler put there. */
const START = PAGE;

interface Gap {
  start: number;
  end: number;
}

export class Heap {
  readonly #memory: WebAssembly.Memory;
  /** Free pieces by address; no two touch. */
  readonly #gaps: Gap[] = [];
  readonly #sizeByAddress = new Map<number, number>();
  #end = START;
  #floats: Float32Array<ArrayBuffer>;

  constructor(memory: WebAssembly.Memory) {
    this.#memory = memory;
    this.#floats = new Float32Array(memory.buffer as ArrayBuffer);
  }

  get buffer(): ArrayBuffer {
    return this.#memory.buffer as ArrayBuffer;
  }

  /** All of the memory as numbers; growing makes older views useless, so ask again after `reserve`. */
  get floats(): Float32Array<ArrayBuffer> {
    if (this.#floats.buffer !== this.#memory.buffer) this.#floats = new Float32Array(this.buffer);
    return this.#floats;
  }

  reserve(bytes: number): number {
    const size = Math.max(ALIGNMENT, Math.ceil(bytes / ALIGNMENT) * ALIGNMENT);
    let gap = this.#gaps.find(({ start, end }) => end - start >= size);
    if (gap === undefined) {
      this.#grow(size);
      gap = this.#gaps[this.#gaps.length - 1];
    }
    const address = gap.start;
    gap.start += size;
    if (gap.start === gap.end) this.#gaps.splice(this.#gaps.indexOf(gap), 1);
    this.#sizeByAddress.set(address, size);
    return address;
  }

  release(address: number): void {
    const size = this.#sizeByAddress.get(address);
    if (size === undefined) throw new RangeError(`nothing is reserved at ${address}`);
    this.#sizeByAddress.delete(address);
    this.#addGap(address, address + size);
  }

  #grow(size: number): void {
    const last = this.#gaps[this.#gaps.length - 1];
    const missing = last !== undefined && last.end === this.#end ? size - (last.end - last.start) : size;
    const end = this.#end + missing;
    const pages = Math.ceil(end / PAGE) - this.buffer.byteLength / PAGE;
    if (pages > 0) {
      try {
        this.#memory.grow(pages);
      } catch (cause) {
        const asked = `${Math.ceil(end / 2 ** 20)} MiB`;
        throw new ForecastnetError("ENGINE_FAILED", `the kernel's memory cannot grow to ${asked}`, { cause });
      }
    }
    this.#addGap(this.#end, end);
    this.#end = end;
  }

  #addGap(start: number, end: number): void {
    const at = this.#gaps.findIndex((gap) => gap.start > start);
    const index = at === -1 ? this.#gaps.length : at;
    const before = this.#gaps[index - 1];
    const after = this.#gaps[index];
    if (before?.end === start) {
      before.end = end;
      if (after?.start === end) {
        before.end = after.end;
        this.#gaps.splice(index, 1);
      }
    } else if (after?.start === end) after.start = start;
    else this.#gaps.splice(index, 0, { start, end });
  }
}
