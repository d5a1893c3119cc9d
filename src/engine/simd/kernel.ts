// Loads the compiled kernel, declares its functions, and allocates its memory. Each executor has its own instance and
// memory. The heap uses the first gap that fits and joins adjacent gaps; its memory grows and never shrinks.

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { ForecastnetError } from "../../runtime/errors.ts";

export interface Kernel {
  readonly memory: WebAssembly.Memory;
  /** Runs a program; returns the sum of all losses. */
  run(
    program: number,
    weights: number,
    gradient: number,
    noise: number,
    lanes: number,
    scale: number,
  ): number;
  /** Packs weights into the kernel's order; the table has the start, rows and columns of each matrix. */
  pack(from: number, to: number, count: number, table: number, matrices: number): void;
  adam(
    weights: number,
    gradient: number,
    first: number,
    second: number,
    count: number,
    rate: number,
    shrink: number,
    firstFactor: number,
    secondFactor: number,
  ): void;
  mixtureQuantiles(
    means: number,
    inverses: number,
    weights: number,
    count: number,
    narrowest: number,
    table: number,
    levels: number,
  ): void;
}

/** The build writes it next to this file. */
const kernelUrl = new URL("kernel.wasm", import.meta.url);

export async function loadKernel(): Promise<WebAssembly.Module> {
  let bytes: Buffer;
  try {
    bytes = await readFile(kernelUrl);
  } catch (cause) {
    const path = fileURLToPath(kernelUrl);
    throw new ForecastnetError("ENGINE_FAILED", `${path} is missing; run \`npm run build\``, {
      cause,
    });
  }
  return WebAssembly.compile(bytes);
}

export function instantiateKernel(module: WebAssembly.Module): Kernel {
  const imports = { env: { abort: () => {} } };
  return new WebAssembly.Instance(module, imports).exports as unknown as Kernel;
}

// The part of the WebAssembly interface in use. Node implements it, but only the types of browsers declare it.
declare global {
  namespace WebAssembly {
    class Module {
      constructor(bytes: Uint8Array);
    }
    class Memory {
      constructor(limits: { readonly initial: number; readonly maximum?: number });
      readonly buffer: ArrayBufferLike;
      grow(pages: number): number;
    }
    class Instance {
      constructor(module: Module, imports?: Readonly<Record<string, Readonly<Record<string, unknown>>>>);
      readonly exports: Readonly<Record<string, unknown>>;
    }
    function compile(bytes: Uint8Array): Promise<Module>;
  }
}

const PAGE = 65_536;
const ALIGNMENT = 64;
/** The compiler's own data is below. */
const START = PAGE;

interface Gap {
  start: number;
  end: number;
}

export class Heap {
  readonly #memory: WebAssembly.Memory;
  /** By address; no two are adjacent. */
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

  /** All of the memory as numbers. Growing detaches older views, so read this again after `reserve`. */
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
