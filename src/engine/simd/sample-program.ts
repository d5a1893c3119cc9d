// Writes the program that draws the sample paths of one net on one window; lanes are paths. Data that depends on the
// shared window alone is computed once for all paths: W·x of a dense layer, and in a convolutional cell all positions
// that do not see the previous cell, through every convolution, pool and the dense layer.
//
// A stream is the data between two layers: its shared positions in the positions layout, its other positions as rows of
// lanes. The layer that reads a stream determines its layout: padding, and shared positions that it needs as rows.
//
// Legend: positions 0 … shared−1 are shared by all paths, shared … length−1 differ by path. The rows of a channel
// begin at position `origin`: the first position that the reader needs for an output that differs by path.

import { inputSizeOf, type Layer, outputLengthOf, outputSizeOf } from "../../models/forecastnet/layers.ts";
import type { CellPlan, NetPlan, Placed } from "../../models/forecastnet/plan.ts";
import * as ops from "./op-codes.ts";
import { matricesOf } from "./packing.ts";
import {
  columnTable,
  convFields,
  denseFields,
  emitConvolution,
  NUMBER,
  ProgramWriter,
  type Region,
  ROW,
} from "./program.ts";

export interface SampleProgram {
  readonly writer: ProgramWriter;
  /** Address of the window. */
  readonly window: number;
  /** [step][target][path] */
  readonly mean: number;
  readonly deviation: number;
  /** The table that the kernel packs nets by: start, rows and columns of each matrix. */
  readonly matrices: { readonly at: number; readonly count: number };
}

export function writeSampleProgram(plan: NetPlan, paths: number): SampleProgram {
  return new SampleCompiler(plan, paths).compile();
}

class SampleCompiler {
  readonly #plan: NetPlan;
  readonly #paths: number;
  readonly #maxBlocks: number;
  /** Bytes of a row of all lanes, in whole blocks of 8. */
  readonly #laneBytes: number;
  readonly #writer = new ProgramWriter();
  readonly #lasting = this.#writer.region();
  /** The inputs of even and odd cells: a cell reads its own input while it writes that of the next cell. */
  readonly #inputs = [this.#writer.region(), this.#writer.region()];
  readonly #inner = this.#writer.region();
  readonly #scratch = this.#writer.region();

  constructor(plan: NetPlan, paths: number) {
    this.#plan = plan;
    this.#paths = paths;
    this.#maxBlocks = Math.ceil(paths / 8);
    this.#laneBytes = this.#maxBlocks * ROW;
  }

  compile(): SampleProgram {
    const { windowSize, targets, cells } = this.#plan;
    const stepBytes = targets * this.#laneBytes;
    const mean = this.#lasting.reserve(cells.length * stepBytes);
    const deviation = this.#lasting.reserve(cells.length * stepBytes);
    const window = this.#lasting.reserve(windowSize * NUMBER);
    let input = this.#cellInput(0, window);
    for (const [h, cell] of cells.entries()) {
      this.#inner.reuse();
      const next = this.#cellInput(h + 1, window);
      this.#cell(cell, input, next);
      const at = h * stepBytes;
      this.#heads(cell, input, next, { mean: mean + at, deviation: deviation + at });
      this.#writer.emit(ops.opDraw, {
        x: mean + at,
        xRow: this.#laneBytes,
        b: deviation + at,
        bRow: this.#laneBytes,
        w: at,
        y: h + 1 < cells.length ? pathRowsAt(next) + cell.outputs * ROW : 0,
        yRow: ROW,
        yBlock: next.rowsBlock,
        outputs: targets,
        flags: this.#plan.spec.output === "gaussian" ? ops.flagGaussian : 0,
      });
      input = next;
    }
    this.#removePadding(mean);
    if (this.#plan.spec.output === "gaussian") this.#removePadding(deviation);
    const table = matricesOf(this.#plan).flatMap(({ start, rows, columns }) => [start, rows, columns]);
    const matrices = { at: this.#writer.table(table), count: table.length / 3 };
    return { writer: this.#writer, window, mean, deviation, matrices };
  }

  /** Makes the rows of lanes contiguous, so that the caller reads them at once. */
  #removePadding(at: number): void {
    const bytes = this.#paths * NUMBER;
    if (bytes === this.#laneBytes) return;
    for (let row = 1; row < this.#plan.cells.length * this.#plan.targets; row++) {
      this.#writer.emit(ops.opCopyNumbers, {
        x: at + row * this.#laneBytes,
        y: at + row * bytes,
        kernel: bytes,
      });
    }
  }

  /** [window, previous cell's output, previous forecast] in the layout of cell `h`; past the last cell, for its heads. */
  #cellInput(h: number, window: number): Stream {
    const { windowSize, targets, cells } = this.#plan;
    const length = h === 0 ? windowSize : windowSize + cells[h - 1].outputs + targets;
    const region = this.#inputs[h % 2];
    region.reuse();
    const stream = layOut(
      region,
      cells[h]?.layers[0] ?? null,
      { channels: 1, length, shared: windowSize },
      this.#maxBlocks,
    );
    this.#writer.emit(ops.opCopyNumbers, { x: window, y: stream.sharedAt, kernel: windowSize * NUMBER });
    completeShared(this.#writer, stream);
    return stream;
  }

  /** The cell's layers. Its output becomes the first rows by path of the next cell's input. */
  #cell({ layers, outputs }: CellPlan, input: Stream, next: Stream): void {
    let from = input;
    for (const [i, layer] of layers.entries()) {
      const reader = layers[i + 1] ?? null;
      const shape = outputShape(layer, from, reader);
      let to = layOut(this.#inner, reader, shape, this.#maxBlocks);
      const isCellOutput = reader === null && shape.shared === 0;
      if (isCellOutput)
        to = { ...to, origin: 0, rowsAt: pathRowsAt(next), rowsRow: ROW, rowsBlock: next.rowsBlock };
      this.#layer(layer, from, to);
      completeShared(this.#writer, to);
      from = to;
    }
    if (from.shared === 0) return;
    this.#writer.emit(ops.opSplat, {
      x: from.sharedAt,
      channels: 1,
      positions: outputs,
      y: pathRowsAt(next),
      yBlock: next.rowsBlock,
    });
  }

  #layer(layer: Placed, from: Stream, to: Stream): void {
    if (layer.kind === "dense") this.#dense(layer, from, to);
    else if (layer.kind === "conv") this.#conv(layer, from, to);
    else this.#pool(layer, from, to);
  }

  #conv(layer: Placed & { kind: "conv" }, from: Stream, to: Stream): void {
    const fields = convFields(layer);
    if (to.shared > 0) {
      this.#writer.emit(ops.opForward, {
        ...fields,
        flags: ops.flagPositions,
        x: from.sharedAt - layer.padding * NUMBER,
        xRow: from.sharedRow,
        table: columnTable(this.#writer, { ...layer, row: from.sharedRow, step: NUMBER }),
        xBlock: 8 * NUMBER,
        positions: 1,
        blocks: Math.ceil(to.shared / 8),
        y: to.sharedAt,
        yRow: to.sharedRow,
        yBlock: 8 * NUMBER,
      });
    }
    if (to.shared === to.length) return;
    emitConvolution(this.#writer, this.#scratch, {
      ...layer,
      positions: to.length - to.shared,
      row: from.rowsRow,
      fields: { ...fields, ...readRows(from, from.rowsAt), ...writeRows(to) },
    });
  }

  #pool(layer: Placed & { kind: "pool" }, from: Stream, to: Stream): void {
    const fields = { channels: layer.channels, kernel: layer.size };
    if (to.shared > 0) {
      this.#writer.emit(ops.opPool, {
        ...fields,
        flags: ops.flagPositions,
        x: from.sharedAt,
        xRow: from.sharedRow,
        xStep: layer.stride * NUMBER,
        positions: to.shared,
        y: to.sharedAt,
        yRow: to.sharedRow,
      });
    }
    if (to.shared === to.length) return;
    const first = from.rowsAt + (to.shared * layer.stride - from.origin) * ROW;
    this.#writer.emit(ops.opPool, {
      ...fields,
      ...readRows(from, first),
      xStep: layer.stride * ROW,
      positions: to.length - to.shared,
      ...writeRows(to),
    });
  }

  #dense(layer: Placed & { kind: "dense" }, from: Stream, to: Stream): void {
    const fields = { ...denseFields(layer), channels: from.channels, columnStride: from.length };
    const shared = { ...fields, x: from.sharedAt, xRow: from.sharedRow, kernel: from.shared };
    if (from.shared === from.length) {
      this.#writer.emit(ops.opMatvec, { ...shared, y: to.sharedAt });
      return;
    }
    let bias: { b?: number; flags?: number } = {};
    if (from.shared > 0) {
      bias = { b: this.#inner.reserve(layer.outputs * NUMBER), flags: ops.flagAbsoluteB };
      this.#writer.emit(ops.opMatvec, { ...shared, y: bias.b as number, activation: ops.activationLinear });
    }
    this.#writer.emit(ops.opForward, {
      ...fields,
      ...bias,
      ...readRows(from, pathRowsAt(from)),
      kernel: from.length - from.shared,
      firstColumn: from.shared,
      ...writeRows({ ...to, rowsRow: ROW }),
    });
  }

  #heads(cell: CellPlan, input: Stream, output: Stream, to: { mean: number; deviation: number }): void {
    const { mean, deviation, outputs, inputs } = cell;
    const seen = { x: pathRowsAt(output), xBlock: output.rowsBlock, kernel: outputs };
    const rows = { yRow: this.#laneBytes, yBlock: ROW };
    if (deviation !== null) {
      this.#writer.emit(ops.opForward, { ...denseFields(deviation), ...seen, ...rows, y: to.deviation });
    }
    const fields = { ...denseFields(mean), ...rows, y: to.mean };
    if (mean.inputs === outputs) {
      this.#writer.emit(ops.opForward, { ...fields, ...seen });
      return;
    }
    // The shortcut: the mean also sees the cell's input. Its window is the same for all paths.
    const { windowSize } = this.#plan;
    const b = this.#inner.reserve(mean.outputs * NUMBER);
    this.#writer.emit(ops.opMatvec, {
      ...fields,
      x: input.sharedAt,
      kernel: windowSize,
      firstColumn: outputs,
      y: b,
    });
    this.#writer.emit(ops.opForward, { ...fields, ...seen, b, flags: ops.flagAbsoluteB });
    if (inputs === windowSize) return;
    this.#writer.emit(ops.opForward, {
      ...fields,
      ...readRows(input, pathRowsAt(input)),
      kernel: inputs - windowSize,
      firstColumn: outputs + windowSize,
      flags: ops.flagAccumulate,
    });
  }
}

function outputShape(layer: Layer, from: Shape, reader: Layer | null): Shape {
  const size = outputSizeOf(layer);
  const channels = layer.kind === "dense" ? 1 : layer.kind === "conv" ? layer.filters : layer.channels;
  if (
    reader !== null &&
    (inputSizeOf(reader) !== size || (reader.kind !== "dense" && reader.channels !== channels))
  ) {
    throw new RangeError(`a ${reader.kind} layer cannot read ${channels} channels of ${size / channels}`);
  }
  return { channels, length: size / channels, shared: sharedOutputs(layer, from) };
}

function readRows({ rowsRow, rowsBlock }: Stream, x: number): { x: number; xRow: number; xBlock: number } {
  return { x, xRow: rowsRow, xBlock: rowsBlock };
}

function writeRows(to: Stream): { y: number; yRow: number; yBlock: number; yStep: number } {
  return { y: pathRowsAt(to), yRow: to.rowsRow, yBlock: to.rowsBlock, yStep: ROW };
}

interface Stream {
  readonly channels: number;
  readonly length: number;
  readonly shared: number;
  /** Address of shared position 0, and bytes from one channel to the next. */
  readonly sharedAt: number;
  readonly sharedRow: number;
  readonly origin: number;
  /** Address of the row at `origin`, bytes from one channel to the next and from one block to the next. */
  readonly rowsAt: number;
  readonly rowsRow: number;
  readonly rowsBlock: number;
  readonly padding: number;
}

interface Shape {
  readonly channels: number;
  readonly length: number;
  readonly shared: number;
}

/** How many of a layer's output positions depend on shared inputs alone. */
function sharedOutputs(layer: Layer, { length, shared }: Shape): number {
  if (layer.kind === "dense") return shared === length ? layer.outputs : 0;
  if (shared === length) return outputLengthOf(layer);
  if (layer.kind === "conv") return Math.max(0, shared + layer.padding - layer.kernel + 1);
  return shared < layer.size ? 0 : Math.floor((shared - layer.size) / layer.stride) + 1;
}

/** The first position that the reader needs as a row. */
function originFor(reader: Layer | null, shape: Shape): number {
  if (reader === null || reader.kind === "dense") return shape.shared;
  const first = sharedOutputs(reader, shape);
  return reader.kind === "conv" ? first - reader.padding : Math.min(first * reader.stride, shape.shared);
}

/** `reader` is null when only heads read the stream. */
function layOut(region: Region, reader: Layer | null, shape: Shape, maxBlocks: number): Stream {
  const { channels, length, shared } = shape;
  const padding = reader?.kind === "conv" ? reader.padding : 0;
  const origin = originFor(reader, shape);
  // Shared positions are written eight at a time: a channel must not overwrite the next.
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

/** Address of the first row that differs by path. */
function pathRowsAt({ rowsAt, shared, origin }: Stream): number {
  return rowsAt + (shared - origin) * ROW;
}

/** Completes a stream once its shared part is written: clears the padding, and copies shared positions into rows. */
function completeShared(writer: ProgramWriter, stream: Stream): void {
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
