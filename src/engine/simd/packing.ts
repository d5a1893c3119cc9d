// The order of a net's weights inside the kernel: the same flat array, but within each matrix rows come in groups of
// four, column by column, so that one address serves four outputs. Rows that fill no group stay as they are. It is
// a permutation: a packed net is as large as its weights.

import { biasCountOf, weightCountOf } from "../../models/forecastnet/layers.ts";
import type { CellPlan, NetPlan, Placed } from "../../models/forecastnet/plan.ts";

type Numbers = Float32Array | Float64Array;

export function packWeights(plan: NetPlan, weights: Numbers, packed: Numbers): void {
  packed.set(weights);
  eachGroup(plan, (start, columns) => {
    for (let column = 0, to = start; column < columns; column++) {
      for (let row = 0, from = start + column; row < 4; row++, from += columns) packed[to++] = weights[from];
    }
  });
}

export function unpackWeights(plan: NetPlan, packed: Numbers, weights: Numbers): void {
  weights.set(packed);
  eachGroup(plan, (start, columns) => {
    for (let column = 0, from = start; column < columns; column++) {
      for (let row = 0, to = start + column; row < 4; row++, to += columns) weights[to] = packed[from++];
    }
  });
}

/** Every layer of a cell that has weights, with its outputs. */
export function weightedLayers({ layers, mean, deviation }: CellPlan): readonly Placed[] {
  const heads = deviation === null ? [mean] : [mean, deviation];
  return [...layers.filter(({ kind }) => kind !== "pool"), ...heads];
}

function eachGroup(plan: NetPlan, visit: (start: number, columns: number) => void): void {
  for (const cell of plan.cells) {
    for (const layer of weightedLayers(cell)) {
      const outputs = biasCountOf(layer);
      const columns = weightCountOf(layer) / outputs;
      for (let group = 0; group < outputs >> 2; group++) {
        visit(layer.weightsAt + group * 4 * columns, columns);
      }
    }
  }
}
