// Writes programs for the kernel: records of the operations in `op-codes.ts`. Addresses are resolved when the program
// is installed. Scratch memory is in regions that can be reused from their start, so that later cells overwrite the
// data of earlier ones. Also has the record fields that all operations of a layer share, and convolutions, which are
// one operation or, where it is faster, the method of fewer products.

import type { Activation, ConvLayer, DenseLayer } from "../../models/forecastnet/layers.ts";
import type { Placed } from "../../models/forecastnet/plan.ts";
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

/** Addresses above this are in a region: (region + 1) · REGION + bytes from its start. */
const REGION = 2 ** 32;
const ALIGNMENT = 64;

/** A part of scratch memory, with addresses that `InstalledProgram.resolve` makes absolute. */
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

  /** Starts again at the beginning: later reservations overwrite earlier ones. */
  reuse(): void {
    this.#used = 0;
  }
}

export class ProgramWriter {
  readonly #regions: Region[] = [];
  readonly #records: number[][] = [];
  /** Data that the program reads and never writes. */
  readonly #constants = this.region();
  readonly #tables = new Map<string, { readonly address: number; readonly values: readonly number[] }>();

  region(): Region {
    const region = new Region(this.#regions.length);
    this.#regions.push(region);
    return region;
  }

  /** The address of a table of whole numbers; equal tables are stored once. */
  table(values: readonly number[]): number {
    const key = values.join();
    const known = this.#tables.get(key);
    if (known !== undefined) return known.address;
    const address = this.#constants.reserve(values.length * NUMBER);
    this.#tables.set(key, { address, values });
    return address;
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

  /** Writes the program to the start of a block of `size` bytes. */
  install(memory: ArrayBuffer, address: number): InstalledProgram {
    const programBytes = (this.#records.length + 1) * ops.recordBytes;
    const starts: number[] = [];
    let end = Math.ceil((address + programBytes) / ALIGNMENT) * ALIGNMENT;
    for (const { size } of this.#regions) {
      starts.push(end);
      end += size;
    }
    const resolve = (value: number): number =>
      value < REGION ? value : starts[Math.floor(value / REGION) - 1] + (value % REGION);
    const words = new Int32Array(memory, address, programBytes / NUMBER);
    words.fill(0);
    for (const [i, record] of this.#records.entries()) {
      words.set(record.map(resolve), (i * ops.recordBytes) / NUMBER);
    }
    for (const table of this.#tables.values()) {
      new Int32Array(memory, resolve(table.address), table.values.length).set(table.values);
    }
    return { entry: address, resolve };
  }
}

export interface InstalledProgram {
  readonly entry: number;
  /** The absolute address of an address in a region. */
  resolve(address: number): number;
}

const codeOf: Readonly<Record<Activation, number>> = {
  linear: ops.activationLinear,
  relu: ops.activationRelu,
  sigmoid: ops.activationSigmoid,
};

/** All columns of a dense layer whose `inputs` rows are contiguous in the data. */
export function denseFields(layer: Placed<DenseLayer>): Fields {
  return {
    w: layer.weightsAt * NUMBER,
    b: layer.biasesAt * NUMBER,
    channels: 1,
    kernel: layer.inputs,
    columns: layer.inputs,
    columnStride: layer.inputs,
    outputs: layer.outputs,
    positions: 1,
    activation: codeOf[layer.activation],
  };
}

export function convFields(layer: Placed<ConvLayer>): Fields {
  return {
    w: layer.weightsAt * NUMBER,
    b: layer.biasesAt * NUMBER,
    channels: layer.channels,
    kernel: layer.kernel,
    columns: layer.channels * layer.kernel,
    columnStride: layer.kernel,
    outputs: layer.filters,
    activation: codeOf[layer.activation],
  };
}

interface Convolution {
  readonly channels: number;
  readonly filters: number;
  readonly kernel: number;
  /** Output positions. */
  readonly positions: number;
  /** Bytes from one channel of the input to the next. */
  readonly row: number;
  /** Weights, biases, activation and flags; input and output except for the fields above. */
  readonly fields: Fields;
}

/** Points of the method of fewer products. */
const POINTS = 6;

/** A convolution over rows of lanes. */
export function emitConvolution(writer: ProgramWriter, scratch: Region, conv: Convolution): void {
  const { channels, filters, kernel, positions, row } = conv;
  const fields: Fields = {
    ...conv.fields,
    channels,
    kernel,
    outputs: filters,
    columns: channels * kernel,
    columnStride: kernel,
    positions,
    xRow: row,
    xStep: ROW,
    yStep: ROW,
  };
  if (!isFast(conv)) {
    const table = columnTable(writer, { channels, kernel, row, step: ROW });
    writer.emit(ops.opForward, { ...fields, table });
    return;
  }
  writer.emit(ops.opFastConv, fields);
  const tiles = Math.ceil(positions / outputsOfTile(kernel));
  const zeros = writer.table(new Array<number>(filters).fill(0));
  scratch.reuse();
  const w = scratch.reserve(POINTS * filters * channels * NUMBER);
  const x = scratch.reserve(POINTS * tiles * channels * ROW);
  const y = scratch.reserve(POINTS * tiles * filters * ROW);
  for (let point = 0; point < POINTS; point++) {
    writer.emit(ops.opForward, {
      w: w + point * filters * channels * NUMBER,
      b: zeros,
      // A tile acts as a block: its data is a row of 8 lanes, too.
      blocks: tiles,
      x: x + point * tiles * channels * ROW,
      xBlock: channels * ROW,
      y: y + point * tiles * filters * ROW,
      yRow: tiles * ROW,
      yBlock: ROW,
      channels: 1,
      kernel: channels,
      columns: channels,
      columnStride: channels,
      outputs: filters,
      positions: 1,
      flags: ops.flagAbsoluteW | ops.flagAbsoluteB,
    });
  }
}

function outputsOfTile(kernel: number): number {
  return POINTS + 1 - kernel;
}

/**
 * Whether the method of fewer products is faster. Per tile, its transforms visit each channel and filter, the products
 * each pair of them: with few channels or filters it is slower.
 */
function isFast({ channels, filters, kernel, positions }: Convolution): boolean {
  const hasPoints = kernel >= 2 && kernel <= 4 && positions >= outputsOfTile(kernel);
  return hasPoints && channels >= 8 && filters >= 8 && filters % 4 === 0;
}

/** Bytes from the first column's input to each column's; 0 where the columns are contiguous. */
export function columnTable(
  writer: ProgramWriter,
  { channels, kernel, row, step }: { channels: number; kernel: number; row: number; step: number },
): number {
  if (channels === 1) return 0;
  const columns = Array.from({ length: channels * kernel }, (_, i) => i);
  return writer.table(columns.map((i) => Math.floor(i / kernel) * row + (i % kernel) * step));
}
