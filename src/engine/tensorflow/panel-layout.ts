// How the numbers of a net lie on the device. The flat array of `plan.ts` is cut into the matrices that products
// need, and matrices with as many columns lie one under another in a panel, so that stacking the panels of many
// nets and cutting the stack into [nets, rows, columns] operands takes an op or two a panel, not one a matrix.
//
// From the second cell on, what a layer sees of the window is the same for all sample paths: a dense layer's
// columns are parted into those of such "fixed" inputs and those of "free" ones. Where the fixed inputs are the
// window itself, the matrices of all cells share one panel: one product serves the whole net. The weights of a
// linear shortcut learn at a rate of their own, so they lie apart from the others.

import {
  biasCountOf,
  type ConvLayer,
  type DenseLayer,
  outputLengthOf,
  type PoolLayer,
  weightCountOf,
} from "../../models/forecastnet/layers.ts";
import type { CellPlan, NetPlan, Placed } from "../../models/forecastnet/plan.ts";

/** What training treats alike: weights decay, biases do not, and shortcuts do not and have a rate of their own. */
export type PanelRole = "weights" | "biases" | "shortcuts";

/** Some matrices of equally many columns, one under another. */
export interface Panel {
  readonly rows: number;
  readonly columns: number;
  /** Rows of each matrix, from the top down. */
  readonly blockRows: readonly number[];
  /** For each number of the panel, row-major, its place in the flat array. */
  readonly order: Int32Array;
  readonly role: PanelRole;
}

/** One matrix: which panel it lies in, and which of the panel's matrices it is. */
export interface Block {
  readonly panel: number;
  readonly index: number;
}

/** The matrices of one layer. A convolution's are all in `free`; a pool has none. */
export interface LayerBlocks {
  /** Which matrix of the window panel holds its columns for the window; its bias is in the window biases. */
  readonly window: number | null;
  readonly fixed: Block | null;
  readonly free: Block | null;
  readonly bias: Block | null;
}

/** What the mean sees of the cell's input. */
export interface ShortcutBlocks {
  /** Which matrix of the window's shortcut panel holds the columns for the window; null in the first cell. */
  readonly window: number | null;
  readonly free: Block;
}

export interface CellBlocks {
  readonly layers: readonly LayerBlocks[];
  /** On the cell's output; `shortcut` has the rest. */
  readonly mean: LayerBlocks;
  readonly shortcut: ShortcutBlocks | null;
  readonly deviation: LayerBlocks | null;
}

export interface PanelLayout {
  readonly plan: NetPlan;
  readonly panels: readonly Panel[];
  readonly cells: readonly CellBlocks[];
  /** The panels of the window's columns and of the biases that go with them; null when no layer sees the bare window. */
  readonly window: { readonly weights: number; readonly biases: number } | null;
  /** The panel of the shortcuts' columns for the window; null when there are none. */
  readonly windowShortcuts: number | null;
}

/** How many of the positions that leave a layer depend on the first `fixed` positions of its input alone. */
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

/** `fixed` is how many numbers of the cell's input do not depend on the path. */
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
    const free = panels.add(layer.channels * layer.kernel, placesFrom(layer.weightsAt, weightCountOf(layer)));
    return { ...noBlocks, free, bias: panels.addBias("biases", layer) };
  });
  const mean = layOutOutput(panels, cell.mean, cell.outputs);
  const shortcut = cell.mean.inputs > cell.outputs ? layOutShortcut(panels, cell, fixed) : null;
  const deviation = cell.deviation && layOutOutput(panels, cell.deviation, cell.outputs);
  return { layers, mean, shortcut, deviation };
}

/** What an output layer sees of the cell's output, which is the first thing it sees. */
function layOutOutput(panels: PanelBuilder, layer: Placed<DenseLayer>, outputs: number): LayerBlocks {
  const free = panels.add(outputs, placesOf(layer, placesFrom(0, outputs)));
  return { ...noBlocks, free, bias: panels.addBias("biases", layer) };
}

/** The mean sees [cell output, cell input], so the window begins after the cell's output. */
function layOutShortcut(
  panels: PanelBuilder,
  { mean, inputs, outputs }: CellPlan,
  fixed: number,
): ShortcutBlocks {
  const add = (name: string, start: number, columns: number) =>
    panels.addTo(name, columns, "shortcuts", placesOf(mean, placesFrom(outputs + start, columns)));
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
  const columns = placesFrom(0, layer.inputs);
  const fixedColumns = columns.filter(isFixed);
  const freeColumns = columns.filter((column) => !isFixed(column));
  const add = (chosen: readonly number[]) =>
    chosen.length === 0 ? null : panels.add(chosen.length, placesOf(layer, chosen));
  if (seesWindow) {
    const places = placesOf(layer, fixedColumns);
    const { index } = panels.addTo("window", fixedColumns.length, "weights", places);
    panels.addBias("window biases", layer);
    return { window: index, fixed: null, free: add(freeColumns), bias: null };
  }
  const bias = panels.addBias("biases", layer);
  return { window: null, fixed: add(fixedColumns), free: add(freeColumns), bias };
}

/** Of some columns of a layer's weights, row by row. */
function placesOf({ weightsAt, inputs, outputs }: Placed<DenseLayer>, columns: readonly number[]): number[] {
  return placesFrom(0, outputs).flatMap((row) => columns.map((column) => weightsAt + row * inputs + column));
}

function placesFrom(start: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => start + i);
}

interface GrowingPanel {
  readonly columns: number;
  readonly role: PanelRole;
  readonly blockRows: number[];
  readonly places: number[][];
}

class PanelBuilder {
  readonly #names: string[] = [];
  readonly #panels: GrowingPanel[] = [];

  add(columns: number, places: number[]): Block {
    return this.addTo(`${columns} columns`, columns, "weights", places);
  }

  addBias(name: string, layer: Placed<DenseLayer> | Placed<ConvLayer>): Block {
    return this.addTo(name, 1, "biases", placesFrom(layer.biasesAt, biasCountOf(layer)));
  }

  addTo(name: string, columns: number, role: PanelRole, places: number[]): Block {
    let panel = this.#names.indexOf(name);
    if (panel === -1) {
      panel = this.#names.push(name) - 1;
      this.#panels.push({ columns, role, blockRows: [], places: [] });
    }
    const { blockRows, places: placesOfPanel } = this.#panels[panel];
    placesOfPanel.push(places);
    return { panel, index: blockRows.push(places.length / columns) - 1 };
  }

  numberOf(name: string): number | null {
    const number = this.#names.indexOf(name);
    return number === -1 ? null : number;
  }

  build(): Panel[] {
    return this.#panels.map(({ columns, role, blockRows, places }) => {
      const order = Int32Array.from(places.flat());
      return { rows: order.length / columns, columns, blockRows, order, role };
    });
  }
}

/** One panel of some nets as the device takes it, [net][row][column]. */
export function toPanel(panel: Panel, nets: readonly Float32Array[]): Float32Array {
  const { order } = panel;
  const values = new Float32Array(nets.length * order.length);
  for (const [net, weights] of nets.entries()) {
    const start = net * order.length;
    for (let i = 0; i < order.length; i++) values[start + i] = weights[order[i]];
  }
  return values;
}

/** The way back: puts one net's panel where it belongs in the flat array. */
export function fromPanel(panel: Panel, values: ArrayLike<number>, flat: Float32Array | Float64Array): void {
  const { order } = panel;
  for (let i = 0; i < order.length; i++) flat[order[i]] = values[i];
}
