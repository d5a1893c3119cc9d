// The part of the WebAssembly interface in use: Node offers it, but its types come with those of browsers only.

declare namespace WebAssembly {
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
