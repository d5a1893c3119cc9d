// Data on its way from one layer to the next while sample paths run: what depends on the shared window alone is kept
// once, in the positions layout; the rest has a row of lanes for every position. How a stream is laid out is decided
// by the layer that reads it, which wants padding and, at the border, shared positions as rows too.
//
// Legend: positions 0 … shared−1 are shared, shared … length−1 are of each path. The rows of a channel begin at
// position `origin`, which lies before `shared` by what the reader's first row of its own looks back on.

import { type Layer, outputLengthOf } from "../../models/forecastnet/layers.ts";
import * as ops from "./op-codes.ts";
import { NUMBER, type ProgramWriter, type Region, ROW } from "./program.ts";

export interface Stream {
  readonly channels: number;
  readonly length: number;
  readonly shared: number;
  /** Address of shared position 0, and bytes to the next channel. */
  readonly sharedAt: number;
  readonly sharedRow: number;
  readonly origin: number;
  /** Address of the row at `origin`, bytes to the next channel and to the next block. */
  readonly rowsAt: number;
  readonly rowsRow: number;
  readonly rowsBlock: number;
  readonly padding: number;
}

export interface Shape {
  readonly channels: number;
  readonly length: number;
  readonly shared: number;
}

/** How many of a layer's output positions depend on shared inputs alone. */
export function sharedOutputs(layer: Layer, { length, shared }: Shape): number {
  if (layer.kind === "dense") return shared === length ? layer.outputs : 0;
  if (shared === length) return outputLengthOf(layer);
  if (layer.kind === "conv") return Math.max(0, shared + layer.padding - layer.kernel + 1);
  return shared < layer.size ? 0 : Math.floor((shared - layer.size) / layer.stride) + 1;
}

/** The first position whose row the reader needs. */
function originFor(reader: Layer | null, shape: Shape): number {
  if (reader === null || reader.kind === "dense") return shape.shared;
  const first = sharedOutputs(reader, shape);
  return reader.kind === "conv" ? first - reader.padding : Math.min(first * reader.stride, shape.shared);
}

/** `reader` is null when only heads read the stream. */
export function layOut(region: Region, reader: Layer | null, shape: Shape, maxBlocks: number): Stream {
  const { channels, length, shared } = shape;
  const padding = reader?.kind === "conv" ? reader.padding : 0;
  const origin = originFor(reader, shape);
  // Shared positions are written eight at a time: a channel must not run into the next.
  const sharedRow = (padding + Math.max(Math.ceil(shared / 8) * 8, shared + padding)) * NUMBER;
  const hasRows = shared < length;
  const rowsRow = hasRows ? (length + padding - origin) * ROW : 0;
  const slack = 64 + (reader?.kind === "conv" ? reader.kernel * NUMBER : 0);
  return {
    ...shape,
    sharedAt: region.reserve(channels * sharedRow + slack) + padding * NUMBER,
    sharedRow,
    origin,
    rowsAt: region.reserve(channels * rowsRow * maxBlocks),
    rowsRow,
    rowsBlock: channels * rowsRow,
    padding,
  };
}

/** Address of the first row that is of each path. */
export function ownRowsAt({ rowsAt, shared, origin }: Stream): number {
  return rowsAt + (shared - origin) * ROW;
}

/** After the shared part has been written: its zeros, and its border as rows. */
export function completeShared(writer: ProgramWriter, stream: Stream): void {
  const { channels, length, shared, sharedAt, sharedRow, origin, rowsAt, rowsRow, rowsBlock, padding } =
    stream;
  if (padding > 0) {
    const zeros = { channels, yRow: sharedRow, kernel: padding * NUMBER, blocks: 1 };
    writer.emit(ops.opClear, { ...zeros, y: sharedAt - padding * NUMBER });
    if (shared === length) writer.emit(ops.opClear, { ...zeros, y: sharedAt + length * NUMBER });
  }
  if (shared === length) return;
  const rows = { channels, yRow: rowsRow, yBlock: rowsBlock };
  if (origin < 0) writer.emit(ops.opClear, { ...rows, y: rowsAt, kernel: -origin * ROW });
  if (padding > 0) {
    writer.emit(ops.opClear, { ...rows, y: rowsAt + (length - origin) * ROW, kernel: padding * ROW });
  }
  const from = Math.max(origin, 0);
  if (from < shared) {
    writer.emit(ops.opSplat, {
      ...rows,
      x: sharedAt + from * NUMBER,
      xRow: sharedRow,
      y: rowsAt + (from - origin) * ROW,
      positions: shared - from,
    });
  }
}
