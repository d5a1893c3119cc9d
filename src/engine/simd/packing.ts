// Converts between the flat array of a net's weights and their order in the kernel. Within each matrix, rows are in
// groups of four, column by column, so that one address serves four outputs. Rows outside a group keep their order.
// Packing is a permutation: a packed net is as large as its weights.

import { biasCountOf, weightCountOf } from "../../models/forecastnet/layers.ts";
import type { CellPlan, NetPlan, Placed } from "../../models/forecastnet/plan.ts";

type Weights = Float32Array | Float64Array;

export function packWeights(plan: NetPlan, weights: Weights, packed: Weights): void {
  packed.set(weights);
  eachGroup(plan, (start, columns) => {
    for (let column = 0, to = start; column < columns; column++) {
      for (let row = 0, from = start + column; row < 4; row++, from += columns) packed[to++] = weights[from];
    }
  });
}

export function unpackWeights(plan: NetPlan, packed: Weights, weights: Weights): void {
  weights.set(packed);
  eachGroup(plan, (start, columns) => {
    for (let column = 0, from = start; column < columns; column++) {
      for (let row = 0, to = start + column; row < 4; row++, to += columns) weights[to] = packed[from++];
    }
  });
}

/** A range of a packed net that Adam treats alike. */
export interface Part {
  /** "shortcut": weights of a mean layer on the cell's input. */
  readonly kind: "weights" | "shortcut" | "biases";
  readonly start: number;
  readonly end: number;
}

/** The parts of a packed net, in order and without gaps. */
export function partsOf(plan: NetPlan): Part[] {
  const parts: Part[] = [];
  const add = (kind: Part["kind"], end: number): void => {
    const last = parts[parts.length - 1];
    const start = last?.end ?? 0;
    if (last?.kind === kind) parts[parts.length - 1] = { kind, start: last.start, end };
    else if (end > start) parts.push({ kind, start, end });
  };
  for (const cell of plan.cells) {
    for (const layer of weightedLayers(cell)) {
      const rows = biasCountOf(layer);
      const columns = weightCountOf(layer) / rows;
      // Columns of the mean layer from here on see the cell's input.
      const own = layer === cell.mean ? cell.outputs : columns;
      for (let row = 0; row < rows; ) {
        const together = row + 4 <= rows ? 4 : 1;
        const start = layer.weightsAt + row * columns;
        add("weights", start + own * together);
        add("shortcut", start + columns * together);
        row += together;
      }
      add("biases", layer.biasesAt + rows);
    }
  }
  return parts;
}

/** The layers of a cell that have weights, and its output layers. */
function weightedLayers({ layers, mean, deviation }: CellPlan): readonly Placed[] {
  const heads = deviation === null ? [mean] : [mean, deviation];
  return [...layers.filter(({ kind }) => kind !== "pool"), ...heads];
}

function eachGroup(plan: NetPlan, visit: (start: number, columns: number) => void): void {
  for (const { start, rows, columns } of matricesOf(plan)) {
    for (let group = 0; group < rows >> 2; group++) visit(start + group * 4 * columns, columns);
  }
}

/** Every matrix of a net in the order of the flat array. */
export function matricesOf(plan: NetPlan): { start: number; rows: number; columns: number }[] {
  return plan.cells.flatMap(weightedLayers).map((layer) => {
    const rows = biasCountOf(layer);
    return { start: layer.weightsAt, rows, columns: weightCountOf(layer) / rows };
  });
}
