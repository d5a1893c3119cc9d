// The kernel's compiled code: where it lies, how it is loaded, what it offers. The module is compiled once and may be
// handed to other threads; each executor has an instance, and a memory, of its own.

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { ForecastnetError } from "../../runtime/errors.ts";

export interface Kernel {
  readonly memory: WebAssembly.Memory;
  /** Runs a program; returns the sum of the losses met on the way. */
  run(
    program: number,
    weights: number,
    gradient: number,
    noise: number,
    lanes: number,
    scale: number,
  ): number;
  /** Weights into the kernel's order; the table names each matrix's start, rows and columns. */
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
    count: number,
    narrowest: number,
    table: number,
    levels: number,
  ): void;
}

/** The build puts it beside this file. */
const kernelUrl = new URL("kernel.wasm", import.meta.url);

export async function loadKernel(): Promise<WebAssembly.Module> {
  let bytes: Buffer;
  try {
    bytes = await readFile(kernelUrl);
  } catch (cause) {
    const path = fileURLToPath(kernelUrl);
    throw new ForecastnetError("ENGINE_FAILED", `${path} is not there; \`npm run build\` makes it`, {
      cause,
    });
  }
  return WebAssembly.compile(bytes);
}

export function instantiateKernel(module: WebAssembly.Module): Kernel {
  const imports = { env: { abort: () => {} } };
  return new WebAssembly.Instance(module, imports).exports as unknown as Kernel;
}

// The part of the WebAssembly interface in use: Node offers it, but its types come with those of browsers only.
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
