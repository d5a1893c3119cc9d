// Writes the forward pass through the cells over rows of a training set, teacher-forced or free-running; lanes are rows.
// With `gradient` the data of every cell stays for the backward pass; without it, each cell overwrites the one before.

import type { Criterion } from "../../models/forecastnet/engine.ts";
import { type Layer, outputLengthOf, outputSizeOf } from "../../models/forecastnet/layers.ts";
import type { CellPlan, NetPlan, Placed } from "../../models/forecastnet/plan.ts";
import * as ops from "./op-codes.ts";
import { convFields, denseFields, emitConvolution, ProgramWriter, type Region, ROW } from "./program.ts";

/** The output of a layer, [block][channel][position][lane], with the zero padding that its reader needs. */
export interface Activations {
  readonly channels: number;
  readonly length: number;
  /** Address of position 0 of channel 0. */
  readonly at: number;
  /** Bytes from one channel to the next, and from one block to the next. */
  readonly row: number;
  readonly block: number;
}

/** What the backward pass needs of a cell: its input is `values[0]`, its output the last. */
export interface CompiledCell {
  readonly cell: CellPlan;
  readonly values: readonly Activations[];
  /** Derivatives of the loss, [target][lane]. */
  readonly byMean: number;
  readonly bySum: number;
}

/** Addresses of a pass's inputs and outputs. */
export interface Places {
  /** The windows: lane i is in block i >> 3 of `windowBlock` bytes. */
  readonly window: number;
  readonly windowBlock: number;
  /** [step][target][lane], like the means and the sums: deviations are the softplus of the sums. */
  readonly targets: number;
  readonly mean: number;
  readonly sums: number;
  readonly laneBytes: number;
}

export interface Pass {
  readonly criterion: Criterion;
  readonly gradient: boolean;
}

export class ForwardCompiler {
  readonly plan: NetPlan;
  readonly writer = new ProgramWriter();
  readonly maxBlocks: number;
  readonly laneBytes: number;
  /** Data that outlives a cell. */
  readonly lasting: Region = this.writer.region();
  /** Memory for a single operation. */
  readonly scratch: Region = this.writer.region();
  readonly #pass: Pass;
  readonly #inner: Region = this.writer.region();
  /** Address of a cell's input. Its window stays; the rest is copied in for each cell. */
  readonly #input: number;
  readonly #inputBlock: number;
  readonly #targets: number;
  readonly #mean: number;
  readonly #sums: number;
  readonly #slopes: number;

  constructor(plan: NetPlan, pass: Pass, maxBlocks: number) {
    this.plan = plan;
    this.#pass = pass;
    this.maxBlocks = maxBlocks;
    this.laneBytes = maxBlocks * ROW;
    const widest = Math.max(...plan.cells.map(({ inputs }) => inputs));
    const padding = Math.max(...plan.cells.map(({ layers }) => paddingOf(layers[0])));
    this.#inputBlock = (widest + 2 * padding) * ROW;
    const start = this.lasting.reserve(this.#inputBlock * maxBlocks);
    this.#input = start + padding * ROW;
    const outputs = plan.cells.length * plan.targets * this.laneBytes;
    this.#targets = this.lasting.reserve(outputs);
    this.#mean = this.lasting.reserve(outputs);
    this.#sums = this.lasting.reserve(outputs);
    this.#slopes = this.lasting.reserve(2 * outputs);
    if (padding > 0) this.clear(start, { block: this.#inputBlock, row: 0, channels: 1 }, padding);
  }

  /** Writes the pass and returns the traces for the backward pass. */
  compile(): CompiledCell[] {
    const traces: CompiledCell[] = [];
    for (const h of this.plan.cells.keys()) {
      if (!this.#pass.gradient) this.#inner.reuse();
      traces.push(this.#cell(h, traces[h - 1]));
    }
    return traces;
  }

  get places(): Places {
    return {
      window: this.#input,
      windowBlock: this.#inputBlock,
      targets: this.#targets,
      mean: this.#mean,
      sums: this.#sums,
      laneBytes: this.laneBytes,
    };
  }

  /** Copies the previous cell's output and the previous forecast behind the window, except for the first cell. */
  fillInput(h: number, before: CompiledCell | undefined): Activations {
    const { inputs, layers } = this.plan.cells[h];
    const input = {
      channels: 1,
      length: inputs,
      at: this.#input,
      row: inputs * ROW,
      block: this.#inputBlock,
    };
    let end = this.#input + this.plan.windowSize * ROW;
    if (before !== undefined) {
      const output = before.values[before.values.length - 1];
      this.writer.emit(ops.opCopy, {
        x: output.at,
        xBlock: output.block,
        xStep: ROW,
        y: end,
        yBlock: this.#inputBlock,
        yStep: ROW,
        channels: 1,
        positions: output.length,
      });
      end += output.length * ROW;
      const fed = this.#pass.criterion === "forced" ? this.#targets : this.#mean;
      this.writer.emit(ops.opCopy, {
        x: fed + this.#stepBytes(h - 1),
        xBlock: ROW,
        xRow: this.laneBytes,
        y: end,
        yBlock: this.#inputBlock,
        yRow: ROW,
        channels: this.plan.targets,
        positions: 1,
      });
      end += this.plan.targets * ROW;
    }
    const padding = paddingOf(layers[0]);
    if (padding > 0) this.clear(end, input, padding);
    return input;
  }

  clear(
    y: number,
    { block, row, channels }: Pick<Activations, "block" | "row" | "channels">,
    rows: number,
  ): void {
    this.writer.emit(ops.opClear, { y, yBlock: block, yRow: row, channels, kernel: rows * ROW });
  }

  #stepBytes(h: number): number {
    return h * this.plan.targets * this.laneBytes;
  }

  #cell(h: number, before: CompiledCell | undefined): CompiledCell {
    const cell = this.plan.cells[h];
    const values = [this.fillInput(h, before)];
    for (const [i, layer] of cell.layers.entries()) {
      const to = this.#reserve(layer, cell.layers[i + 1]);
      this.#layer(layer, values[i], to);
      values.push(to);
    }
    this.#heads(cell, values, h);
    const at = this.#stepBytes(h);
    const byMean = this.#slopes + at;
    const sumsAfterMeans = this.#stepBytes(this.plan.cells.length);
    this.writer.emit(ops.opLoss, {
      x: this.#mean + at,
      xRow: this.laneBytes,
      b: this.#sums + at,
      w: this.#targets + at,
      y: byMean,
      yBlock: sumsAfterMeans,
      outputs: this.plan.targets,
      flags: this.#lossFlags(),
    });
    return { cell, values, byMean, bySum: byMean + sumsAfterMeans };
  }

  #lossFlags(): number {
    const { output, loss } = this.plan.spec;
    const kind = (output === "gaussian" ? ops.flagGaussian : 0) | (loss === "crps" ? ops.flagCrps : 0);
    return kind | (this.#pass.gradient ? 0 : ops.flagLossOnly);
  }

  #reserve(layer: Layer, reader: Layer | undefined): Activations {
    const channels = layer.kind === "dense" ? 1 : layer.kind === "conv" ? layer.filters : layer.channels;
    const length = outputSizeOf(layer) / channels;
    const padding = reader === undefined ? 0 : paddingOf(reader);
    const row = (length + 2 * padding) * ROW;
    const start = this.#inner.reserve(channels * row * this.maxBlocks);
    const to = { channels, length, at: start + padding * ROW, row, block: channels * row };
    if (padding > 0) {
      this.clear(start, to, padding);
      this.clear(to.at + length * ROW, to, padding);
    }
    return to;
  }

  #layer(layer: Placed, from: Activations, to: Activations): void {
    const data = { xBlock: from.block, y: to.at, yBlock: to.block, yStep: ROW };
    if (layer.kind === "dense") {
      this.writer.emit(ops.opForward, { ...denseFields(layer), ...data, x: from.at, yRow: ROW });
      return;
    }
    const positions = outputLengthOf(layer);
    if (layer.kind === "conv") {
      const x = from.at - layer.padding * ROW;
      emitConvolution(this.writer, this.scratch, {
        ...layer,
        positions,
        row: from.row,
        fields: { ...convFields(layer), ...data, x, yRow: to.row },
      });
      return;
    }
    const pool = { channels: layer.channels, kernel: layer.size, xStep: layer.stride * ROW };
    this.writer.emit(ops.opPool, { ...data, ...pool, x: from.at, xRow: from.row, yRow: to.row, positions });
  }

  #heads({ mean, deviation, outputs }: CellPlan, values: readonly Activations[], h: number): void {
    const output = values[values.length - 1];
    const at = this.#stepBytes(h);
    const rows = { x: output.at, xBlock: output.block, kernel: outputs, yRow: this.laneBytes, yBlock: ROW };
    const means = { ...denseFields(mean), ...rows, y: this.#mean + at };
    this.writer.emit(ops.opForward, means);
    if (mean.inputs > outputs) {
      this.writer.emit(ops.opForward, {
        ...means,
        x: values[0].at,
        xBlock: values[0].block,
        kernel: values[0].length,
        firstColumn: outputs,
        flags: ops.flagAccumulate,
      });
    }
    if (deviation === null) return;
    this.writer.emit(ops.opForward, { ...denseFields(deviation), ...rows, y: this.#sums + at });
  }
}

function paddingOf(layer: Layer): number {
  return layer.kind === "conv" ? layer.padding : 0;
}
