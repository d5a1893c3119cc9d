// Writes the backward pass through the cells, last to first. Teacher forcing cuts the path through the outputs: a cell
// receives derivatives from its own heads and, through the next cell's input, from the next cell.
//
// Legend: dv is ∂L/∂v; x is the input of a layer, a its sums before the activation, y its output.

import {
  type ConvLayer,
  type DenseLayer,
  inputSizeOf,
  type Layer,
  outputLengthOf,
  type PoolLayer,
} from "../../models/forecastnet/layers.ts";
import type { Placed } from "../../models/forecastnet/plan.ts";
import type { Activations, CompiledCell, ForwardCompiler } from "./forward-program.ts";
import * as ops from "./op-codes.ts";
import {
  convFields,
  denseFields,
  emitConvolution,
  type Fields,
  NUMBER,
  type ProgramWriter,
  type Region,
  ROW,
} from "./program.ts";

export function writeBackward(forward: ForwardCompiler, traces: readonly CompiledCell[]): void {
  new BackwardCompiler(forward).compile(traces);
}

/** Destination of dx, and the first input position that it covers. */
interface Wanted {
  readonly dx: Activations;
  readonly from: number;
}

class BackwardCompiler {
  readonly #forward: ForwardCompiler;
  readonly #writer: ProgramWriter;
  /** dh of the current cell and of the one before it. */
  readonly #slopes: readonly number[];
  readonly #slopeBlock: number;
  readonly #inner: Region;

  constructor(forward: ForwardCompiler) {
    const { plan, maxBlocks, lasting, writer } = forward;
    this.#forward = forward;
    this.#writer = writer;
    this.#inner = writer.region();
    this.#slopeBlock = Math.max(...plan.cells.map(({ outputs }) => outputs)) * ROW;
    this.#slopes = [0, 1].map(() => lasting.reserve(this.#slopeBlock * maxBlocks));
  }

  compile(traces: readonly CompiledCell[]): void {
    for (let h = traces.length - 1; h >= 0; h--) {
      const { cell } = traces[h];
      this.#inner.reuse();
      this.#forward.fillInput(h, traces[h - 1]);
      this.#heads(traces[h], this.#slopes[h % 2], h === traces.length - 1);
      const before = h > 0 ? this.#vector(this.#slopes[(h - 1) % 2], traces[h - 1].cell.outputs) : null;
      let dy = this.#vector(this.#slopes[h % 2], cell.outputs);
      for (let i = cell.layers.length - 1; i > 0; i--) {
        const dx = this.#flat(cell.layers[i]);
        this.#layer(traces[h], i, dy, { dx, from: 0 });
        dy = dx;
      }
      const { windowSize } = this.#forward.plan;
      this.#layer(traces[h], 0, dy, before === null ? null : { dx: before, from: windowSize });
      if (before !== null) this.#shortcut(traces[h], before);
    }
  }

  #vector(at: number, length: number): Activations {
    return { channels: 1, length, at, row: length * ROW, block: this.#slopeBlock };
  }

  /** Memory for dx of a layer, without padding. */
  #flat(layer: Layer): Activations {
    const size = inputSizeOf(layer);
    const channels = layer.kind === "dense" ? 1 : layer.channels;
    const row = (size / channels) * ROW;
    const at = this.#inner.reserve(size * ROW * this.#forward.maxBlocks);
    return { channels, length: size / channels, at, row, block: size * ROW };
  }

  /** dw and db of the heads, and their part of dh, the first part in the last cell. */
  #heads({ cell, values, byMean, bySum }: CompiledCell, dh: number, isLast: boolean): void {
    const { mean, deviation, outputs } = cell;
    const h = values[values.length - 1];
    this.#headWeights(mean, byMean, [h, ...(mean.inputs > outputs ? [values[0]] : [])]);
    const to = { y: dh, yBlock: this.#slopeBlock, yRow: ROW, kernel: outputs };
    const slopes = { xBlock: ROW, xRow: this.#forward.laneBytes };
    const flags = isLast ? 0 : ops.flagAccumulate;
    this.#writer.emit(ops.opInputGradient, { ...denseFields(mean), ...slopes, x: byMean, ...to, flags });
    if (deviation === null) return;
    this.#headWeights(deviation, bySum, [h]);
    const fields = { ...denseFields(deviation), ...slopes, x: bySum, ...to };
    this.#writer.emit(ops.opInputGradient, { ...fields, flags: ops.flagAccumulate });
  }

  /** dw and db of a head whose input is the concatenation of `seen`. */
  #headWeights(head: Placed<DenseLayer>, slopes: number, seen: readonly Activations[]): void {
    const fields = { ...denseFields(head), y: slopes, yBlock: ROW, yRow: this.#forward.laneBytes };
    let firstColumn = 0;
    for (const { at, block, length } of seen) {
      const b = this.#inner.reserve(this.#forward.maxBlocks * 8 * ROW);
      this.#writer.emit(ops.opWeightGradient, {
        ...fields,
        x: at,
        xBlock: block,
        kernel: length,
        firstColumn,
        b,
      });
      firstColumn += length;
    }
    this.#writer.emit(ops.opBiasGradient, fields);
  }

  /** The part of dh of the previous cell that comes through the linear shortcut of this cell's mean. */
  #shortcut({ cell, byMean }: CompiledCell, dh: Activations): void {
    const { mean, outputs } = cell;
    if (mean.inputs === outputs) return;
    this.#writer.emit(ops.opInputGradient, {
      ...denseFields(mean),
      x: byMean,
      xBlock: ROW,
      xRow: this.#forward.laneBytes,
      firstColumn: outputs + this.#forward.plan.windowSize,
      kernel: dh.length,
      y: dh.at,
      yBlock: dh.block,
      yRow: ROW,
      flags: ops.flagAccumulate,
    });
  }

  /** dw, db and, if `to` is given, dx. */
  #layer(trace: CompiledCell, i: number, dy: Activations, to: Wanted | null): void {
    const layer = trace.cell.layers[i];
    if (layer.kind === "pool") {
      if (to !== null) this.#pool(layer, dy, to);
      return;
    }
    const x = trace.values[i];
    const da = this.#throughActivation(layer, trace.values[i + 1], dy);
    if (layer.kind === "dense") {
      const slopes = { y: da.at, yBlock: da.block, yRow: ROW };
      this.#weights({ ...denseFields(layer), ...slopes, x: x.at, xBlock: x.block });
      if (to !== null) this.#denseInputs(layer, da, to);
      return;
    }
    const positions = outputLengthOf(layer);
    const slopes = { y: da.at, yBlock: da.block, yRow: da.row, positions };
    const first = x.at - layer.padding * ROW;
    this.#weights({ ...convFields(layer), ...slopes, x: first, xBlock: x.block, xRow: x.row });
    if (to !== null) this.#convInputs(layer, da, to);
  }

  /** da = dy·f′(a), with the zero padding that the backward pass of a convolution needs. */
  #throughActivation(layer: Placed<DenseLayer | ConvLayer>, y: Activations, dy: Activations): Activations {
    const padding = layer.kind === "conv" ? layer.kernel - 1 : 0;
    if (layer.activation === "linear" && padding === 0) return dy;
    const row = (y.length + 2 * padding) * ROW;
    const start = this.#inner.reserve(y.channels * row * this.#forward.maxBlocks);
    const da = { ...y, at: start + padding * ROW, row, block: y.channels * row };
    this.#writer.emit(ops.opActivationGradient, {
      x: dy.at,
      xBlock: dy.block,
      // dy has no padding. A dense layer wrote it as one channel, which has the same layout.
      xRow: y.length * ROW,
      b: y.at,
      bBlock: y.block,
      bRow: y.row,
      y: da.at,
      yBlock: da.block,
      yRow: row,
      channels: y.channels,
      positions: y.length,
      kernel: padding,
      activation: convFieldsOrDense(layer).activation as number,
    });
    return da;
  }

  /** dw and db. */
  #weights(fields: Fields): void {
    const positions = fields.positions ?? 1;
    const blocks = positions > 1 ? 1 : this.#forward.maxBlocks;
    // Memory for eight outputs of each lane and position, transposed.
    const b = this.#inner.reserve(positions * blocks * 8 * ROW);
    this.#writer.emit(ops.opWeightGradient, { ...fields, b });
    this.#writer.emit(ops.opBiasGradient, fields);
  }

  #denseInputs(layer: Placed<DenseLayer>, da: Activations, { dx, from }: Wanted): void {
    this.#writer.emit(ops.opInputGradient, {
      ...denseFields(layer),
      x: da.at,
      xBlock: da.block,
      xRow: ROW,
      firstColumn: from,
      kernel: dx.channels * dx.length,
      y: dx.at,
      yBlock: dx.block,
      yRow: ROW,
    });
  }

  /** dx[c][q] = Σ_f Σ_k w[f][c][k]·da[f][q + padding − k]: a convolution of the padded da with the flipped kernel. */
  #convInputs(layer: Placed<ConvLayer>, da: Activations, { dx, from }: Wanted): void {
    const { channels, filters, kernel, padding } = layer;
    const flipped = this.#inner.reserve(channels * filters * kernel * NUMBER);
    this.#writer.emit(ops.opFlip, { ...convFields(layer), y: flipped });
    emitConvolution(this.#writer, this.#forward.scratch, {
      channels: filters,
      filters: channels,
      kernel,
      positions: dx.length,
      row: da.row,
      fields: {
        w: flipped,
        flags: ops.flagAbsoluteW | ops.flagNoBias,
        x: da.at + (from + padding - (kernel - 1)) * ROW,
        xBlock: da.block,
        activation: ops.activationLinear,
        y: dx.at,
        yBlock: dx.block,
        yRow: dx.row,
      },
    });
  }

  #pool(layer: Placed<PoolLayer>, dy: Activations, to: Wanted): void {
    const { dx, from } = to;
    const whole = from === 0 ? dx : this.#flat(layer);
    this.#writer.emit(ops.opClear, { y: whole.at, yBlock: whole.block, channels: 1, kernel: whole.block });
    this.#writer.emit(ops.opPoolGradient, {
      x: dy.at,
      xBlock: dy.block,
      xRow: outputLengthOf(layer) * ROW,
      channels: layer.channels,
      kernel: layer.size,
      positions: outputLengthOf(layer),
      y: whole.at,
      yBlock: whole.block,
      yRow: whole.row,
      yStep: layer.stride * ROW,
    });
    if (whole === dx) return;
    this.#writer.emit(ops.opCopy, {
      x: whole.at + from * ROW,
      xBlock: whole.block,
      xStep: ROW,
      channels: 1,
      positions: dx.length,
      y: dx.at,
      yBlock: dx.block,
      yStep: ROW,
    });
  }
}

function convFieldsOrDense(layer: Placed<DenseLayer | ConvLayer>): Fields {
  return layer.kind === "dense" ? denseFields(layer) : convFields(layer);
}
