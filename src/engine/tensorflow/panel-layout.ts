// The layout of a net's weights on the device. The flat array of `plan.ts` is split into the matrices that products
// need. Matrices with equally many columns form a panel, one below the other, so that stacking the panels of many nets
// and splitting the stack into [nets, rows, columns] operands takes one or two ops per panel instead of one per matrix.
//
// From the second cell on, what a layer sees of the window is the same for all sample paths: a dense layer's columns
// are split into those of such "fixed" inputs and those of "free" inputs. Where the fixed inputs are the window itself,
// the matrices of all cells share one panel, and one product serves the whole net. The weights of linear shortcuts have
// separate panels, because they have a separate learning rate.

import {
  biasCountOf,
  type ConvLayer,
  type DenseLayer,
  outputLengthOf,
  type PoolLayer,
  weightCountOf,
} from "../../models/forecastnet/layers.ts";
import type { CellPlan, NetPlan, Placed } from "../../models/forecastnet/plan.ts";

/** How training treats a panel: weights decay, biases do not, shortcuts do not and have their own learning rate. */
export type PanelRole = "weights" | "biases" | "shortcuts";

/** Matrices of equally many columns, one below the other. */
interface Panel {
  readonly rows: number;
  readonly columns: number;
  /** Rows of each matrix, from the top down. */
  readonly blockRows: readonly number[];
  /** For each number of the panel, row-major, its index in the flat array. */
  readonly order: Int32Array;
  readonly role: PanelRole;
}

/** One matrix: its panel, and its index in the panel. */
export interface Block {
  readonly panel: number;
  readonly index: number;
}

/** The matrices of one layer. A convolution's are all in `free`; a pool has none. */
export interface LayerBlocks {
  /** Index in the window panel of the columns for the window; the bias is then in the window biases. */
  readonly window: number | null;
  readonly fixed: Block | null;
  readonly free: Block | null;
  readonly bias: Block | null;
}

/** The weights of the mean on the cell's input. */
export interface ShortcutBlocks {
  /** Index in the window's shortcut panel of the columns for the window; null in the first cell. */
  readonly window: number | null;
  readonly free: Block;
}

export interface CellBlocks {
  readonly layers: readonly LayerBlocks[];
  /** Weights on the cell's output; `shortcut` has the others. */
  readonly mean: LayerBlocks;
  readonly shortcut: ShortcutBlocks | null;
  readonly deviation: LayerBlocks | null;
}

export interface PanelLayout {
  readonly plan: NetPlan;
  readonly panels: readonly Panel[];
  readonly cells: readonly CellBlocks[];
  /** The panels of the window's columns and of their biases; null if no layer sees the window itself. */
  readonly window: { readonly weights: number; readonly biases: number } | null;
  /** The panel of the shortcuts' columns for the window; null if there are none. */
  readonly windowShortcuts: number | null;
}

/** How many of a layer's output positions depend on the first `fixed` input positions alone. */
export function fixedAfter(layer: ConvLayer | PoolLayer, fixed: number): number {
  if (fixed === 0) return 0;
  if (fixed === layer.length) return outputLengthOf(layer);
  if (layer.kind === "conv") return Math.max(0, fixed + layer.padding - layer.kernel + 1);
  return fixed < layer.size ? 0 : Math.floor((fixed - layer.size) / layer.stride) + 1;
}

export function layOut(plan: NetPlan): PanelLayout {
  const panels = new PanelBuilder();
  const cells = plan.cells.map((cell, h) => layOutCell(panels, cell, h === 0 ? 0 : plan.windowSize));
  const weights = panels.numberOf("window");
  const window = weights === null ? null : { weights, biases: panels.numberOf("window biases") as number };
  return {
    plan,
    panels: panels.build(),
    cells,
    window,
    windowShortcuts: panels.numberOf("window shortcuts"),
  };
}

const noBlocks: LayerBlocks = { window: null, fixed: null, free: null, bias: null };

/** The first `fixed` numbers of the cell's input do not depend on the path. */
function layOutCell(panels: PanelBuilder, cell: CellPlan, fixed: number): CellBlocks {
  let extent = { channels: 1, length: cell.inputs, fixed };
  const layers = cell.layers.map((layer, i): LayerBlocks => {
    if (layer.kind === "dense") {
      const isFixed = (column: number) => column % extent.length < extent.fixed;
      const blocks = layOutDense(panels, layer, isFixed, i === 0 && fixed > 0);
      extent = { channels: 1, length: layer.outputs, fixed: 0 };
      return blocks;
    }
    const channels = layer.kind === "conv" ? layer.filters : layer.channels;
    extent = { channels, length: outputLengthOf(layer), fixed: fixedAfter(layer, extent.fixed) };
    if (layer.kind === "pool") return noBlocks;
    const free = panels.add(
      layer.channels * layer.kernel,
      indicesFrom(layer.weightsAt, weightCountOf(layer)),
    );
    return { ...noBlocks, free, bias: panels.addBias("biases", layer) };
  });
  const mean = layOutOutput(panels, cell.mean, cell.outputs);
  const shortcut = cell.mean.inputs > cell.outputs ? layOutShortcut(panels, cell, fixed) : null;
  const deviation = cell.deviation && layOutOutput(panels, cell.deviation, cell.outputs);
  return { layers, mean, shortcut, deviation };
}

/** The weights of an output layer on the cell's output, which is the first part of its input. */
function layOutOutput(panels: PanelBuilder, layer: Placed<DenseLayer>, outputs: number): LayerBlocks {
  const free = panels.add(outputs, indicesOf(layer, indicesFrom(0, outputs)));
  return { ...noBlocks, free, bias: panels.addBias("biases", layer) };
}

/** The mean's input is [cell output, cell input], so the window begins after the cell's output. */
function layOutShortcut(
  panels: PanelBuilder,
  { mean, inputs, outputs }: CellPlan,
  fixed: number,
): ShortcutBlocks {
  const add = (name: string, start: number, columns: number) =>
    panels.addTo(name, columns, "shortcuts", indicesOf(mean, indicesFrom(outputs + start, columns)));
  return {
    window: fixed === 0 ? null : add("window shortcuts", 0, fixed).index,
    free: add(`shortcuts of ${inputs - fixed} columns`, fixed, inputs - fixed),
  };
}

function layOutDense(
  panels: PanelBuilder,
  layer: Placed<DenseLayer>,
  isFixed: (column: number) => boolean,
  seesWindow: boolean,
): LayerBlocks {
  const columns = indicesFrom(0, layer.inputs);
  const fixedColumns = columns.filter(isFixed);
  const freeColumns = columns.filter((column) => !isFixed(column));
  const add = (chosen: readonly number[]) =>
    chosen.length === 0 ? null : panels.add(chosen.length, indicesOf(layer, chosen));
  if (seesWindow) {
    const indices = indicesOf(layer, fixedColumns);
    const { index } = panels.addTo("window", fixedColumns.length, "weights", indices);
    panels.addBias("window biases", layer);
    return { window: index, fixed: null, free: add(freeColumns), bias: null };
  }
  const bias = panels.addBias("biases", layer);
  return { window: null, fixed: add(fixedColumns), free: add(freeColumns), bias };
}

/** Indices of the chosen columns of a layer's weights, row by row. */
function indicesOf({ weightsAt, inputs, outputs }: Placed<DenseLayer>, columns: readonly number[]): number[] {
  return indicesFrom(0, outputs).flatMap((row) => columns.map((column) => weightsAt + row * inputs + column));
}

function indicesFrom(start: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => start + i);
}

interface GrowingPanel {
  readonly columns: number;
  readonly role: PanelRole;
  readonly blockRows: number[];
  readonly indices: number[][];
}

class PanelBuilder {
  readonly #names: string[] = [];
  readonly #panels: GrowingPanel[] = [];

  add(columns: number, indices: number[]): Block {
    return this.addTo(`${columns} columns`, columns, "weights", indices);
  }

  addBias(name: string, layer: Placed<DenseLayer> | Placed<ConvLayer>): Block {
    return this.addTo(name, 1, "biases", indicesFrom(layer.biasesAt, biasCountOf(layer)));
  }

  addTo(name: string, columns: number, role: PanelRole, indices: number[]): Block {
    let panel = this.#names.indexOf(name);
    if (panel === -1) {
      panel = this.#names.push(name) - 1;
      this.#panels.push({ columns, role, blockRows: [], indices: [] });
    }
    const { blockRows, indices: indicesOfPanel } = this.#panels[panel];
    indicesOfPanel.push(indices);
    return { panel, index: blockRows.push(indices.length / columns) - 1 };
  }

  numberOf(name: string): number | null {
    const number = this.#names.indexOf(name);
    return number === -1 ? null : number;
  }

  build(): Panel[] {
    return this.#panels.map(({ columns, role, blockRows, indices }) => {
      const order = Int32Array.from(indices.flat());
      return { rows: order.length / columns, columns, blockRows, order, role };
    });
  }
}

/** One panel of several nets, [net][row][column]. */
export function toPanel(panel: Panel, nets: readonly Float32Array[]): Float32Array {
  const { order } = panel;
  const values = new Float32Array(nets.length * order.length);
  for (const [net, weights] of nets.entries()) {
    const start = net * order.length;
    for (let i = 0; i < order.length; i++) values[start + i] = weights[order[i]];
  }
  return values;
}

/** Writes one net's panel back into the flat array. */
export function fromPanel(panel: Panel, values: ArrayLike<number>, flat: Float32Array | Float64Array): void {
  const { order } = panel;
  for (let i = 0; i < order.length; i++) flat[order[i]] = values[i];
}

/**
 * Finds the layout of a plan. Plans that differ only in what an executor does not see, such as framing or loss, share a
 * layout: nets of one layout run as one stack, whichever models they belong to.
 */
export class LayoutCache {
  readonly #layoutByPlan = new WeakMap<NetPlan, PanelLayout>();
  readonly #layoutByShape = new Map<string, PanelLayout>();

  of(plan: NetPlan): PanelLayout {
    const known = this.#layoutByPlan.get(plan);
    if (known !== undefined) return known;
    const shape = JSON.stringify([plan.windowSize, plan.targets, plan.cells]);
    const layout = this.#layoutByShape.get(shape) ?? layOut(plan);
    this.#layoutByShape.set(shape, layout);
    this.#layoutByPlan.set(plan, layout);
    return layout;
  }
}
