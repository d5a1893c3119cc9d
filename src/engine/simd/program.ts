// Writes programs for the kernel: records of the operations in `op-codes.ts`, with addresses that are settled only
// when the program is installed. Scratch memory comes in regions that can be used again from their start, so that
// data of cells long past gives its place to the present ones.

import * as ops from "./op-codes.ts";

const fieldAt = {
  y: ops.atY,
  yBlock: ops.atYBlock,
  yRow: ops.atYRow,
  yStep: ops.atYStep,
  x: ops.atX,
  xBlock: ops.atXBlock,
  xRow: ops.atXRow,
  xStep: ops.atXStep,
  channels: ops.atChannels,
  kernel: ops.atKernel,
  w: ops.atW,
  firstColumn: ops.atFirstColumn,
  columnStride: ops.atColumnStride,
  columns: ops.atColumns,
  outputs: ops.atOutputs,
  positions: ops.atPositions,
  blocks: ops.atBlocks,
  b: ops.atB,
  bBlock: ops.atBBlock,
  bRow: ops.atBRow,
  activation: ops.atActivation,
  flags: ops.atFlags,
  table: ops.atTable,
} as const;

export type Fields = { readonly [K in keyof typeof fieldAt]?: number };

/** Bytes of a row of 8 lanes. */
export const ROW = 32;
/** Bytes of a number. */
export const NUMBER = 4;

/** Addresses above this are places in a region: (region + 1) · REGION + bytes from its start. */
const REGION = 2 ** 32;
const ALIGNMENT = 64;

/** A part of scratch memory. */
export class Region {
  readonly #origin: number;
  #used = 0;
  #size = 0;

  constructor(index: number) {
    this.#origin = (index + 1) * REGION;
  }

  get size(): number {
    return this.#size;
  }

  reserve(bytes: number): number {
    const at = this.#used;
    this.#used += Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
    this.#size = Math.max(this.#size, this.#used);
    return this.#origin + at;
  }

  /** What was reserved may be overwritten by what is reserved next. */
  reuse(): void {
    this.#used = 0;
  }
}

export class ProgramWriter {
  readonly #regions: Region[] = [];
  readonly #records: number[][] = [];
  /** What the program reads and never writes. */
  readonly #constants = this.region();
  readonly #tables = new Map<string, { readonly place: number; readonly values: readonly number[] }>();

  region(): Region {
    const region = new Region(this.#regions.length);
    this.#regions.push(region);
    return region;
  }

  /** A table of whole numbers; equal ones are kept once. */
  table(values: readonly number[]): number {
    const key = values.join();
    const known = this.#tables.get(key);
    if (known !== undefined) return known.place;
    const place = this.#constants.reserve(values.length * NUMBER);
    this.#tables.set(key, { place, values });
    return place;
  }

  emit(code: number, fields: Fields): void {
    const record = new Array<number>(ops.recordBytes / NUMBER).fill(0);
    record[ops.atCode / NUMBER] = code;
    for (const [name, value] of Object.entries(fields)) {
      record[fieldAt[name as keyof Fields] / NUMBER] = value;
    }
    this.#records.push(record);
  }

  /** Bytes of the program and all its regions. */
  get size(): number {
    const programBytes = (this.#records.length + 1) * ops.recordBytes;
    return this.#regions.reduce((sum, { size }) => sum + size, programBytes + ALIGNMENT);
  }

  /** Puts the program at the start of a piece of memory of `size` bytes. */
  install(memory: ArrayBuffer, address: number): InstalledProgram {
    const programBytes = (this.#records.length + 1) * ops.recordBytes;
    const starts: number[] = [];
    let end = Math.ceil((address + programBytes) / ALIGNMENT) * ALIGNMENT;
    for (const { size } of this.#regions) {
      starts.push(end);
      end += size;
    }
    const settle = (value: number): number =>
      value < REGION ? value : starts[Math.floor(value / REGION) - 1] + (value % REGION);
    const words = new Int32Array(memory, address, programBytes / NUMBER);
    words.fill(0);
    for (const [i, record] of this.#records.entries()) {
      words.set(record.map(settle), (i * ops.recordBytes) / NUMBER);
    }
    for (const { place, values } of this.#tables.values()) {
      new Int32Array(memory, settle(place), values.length).set(values);
    }
    return { entry: address, settle };
  }
}

export interface InstalledProgram {
  readonly entry: number;
  /** The true address of a place in a region. */
  settle(place: number): number;
}
