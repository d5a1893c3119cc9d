// A convolution over rows of lanes as operations of the kernel: directly, or by the method of fewer products where
// its transforms pay.

import * as ops from "./op-codes.ts";
import { type Fields, NUMBER, type ProgramWriter, type Region, ROW } from "./program.ts";

export interface Convolution {
  readonly channels: number;
  readonly filters: number;
  readonly kernel: number;
  /** Output positions. */
  readonly positions: number;
  /** Bytes from one channel of the input to the next. */
  readonly row: number;
  /** Weights, biases, activation, flags; input and output but for what is said above. */
  readonly fields: Fields;
}

/** Points of the method of fewer products. */
const POINTS = 6;

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
      // A tile takes the part of a block: what belongs to it is a row of 8 lanes, too.
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

/** The transforms touch each channel and filter once a tile, the products each pair: with few they do not pay. */
function isFast({ channels, filters, kernel, positions }: Convolution): boolean {
  const hasPoints = kernel >= 2 && kernel <= 4 && positions >= outputsOfTile(kernel);
  return hasPoints && channels >= 8 && filters >= 8 && filters % 4 === 0;
}

/** Bytes from the first to each column's input; 0 where the columns follow each other anyway. */
export function columnTable(
  writer: ProgramWriter,
  { channels, kernel, row, step }: { channels: number; kernel: number; row: number; step: number },
): number {
  if (channels === 1) return 0;
  const columns = Array.from({ length: channels * kernel }, (_, i) => i);
  return writer.table(columns.map((i) => Math.floor(i / kernel) * row + (i % kernel) * step));
}
