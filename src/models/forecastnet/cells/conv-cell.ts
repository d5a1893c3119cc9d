// The convolutional cell (cFN, cFN2): convolutions over the one-channel concatenation [window, previous cell's
// output, previous output], each with an optional average pool, then one dense layer. The paper's cell has two
// stages of 24 filters of 2 with pools of 2; the authors' published code has kernels of 5 and 3, padded, no pools.

import { type Activation, type ConvLayer, type Layer, outputLengthOf, type PoolLayer } from "../layers.ts";
import type { CellKind } from "./cell-kind.ts";

export interface ConvStage {
  readonly filters: number;
  readonly kernel: number;
  readonly padding: number;
  readonly pool: { readonly size: number; readonly stride: number } | null;
}

export interface ConvCellSpec {
  readonly kind: "conv";
  readonly stages: readonly ConvStage[];
  /** Neurons of the dense layer at the end. */
  readonly units: number;
  readonly activation: Activation;
}

export const convCell: CellKind<ConvCellSpec> = {
  toLayers({ stages, units, activation }, inputs) {
    const layers: Layer[] = [];
    let channels = 1;
    let length = inputs;
    for (const { filters, kernel, padding, pool } of stages) {
      const conv: ConvLayer = { kind: "conv", channels, length, filters, kernel, padding, activation };
      layers.push(conv);
      channels = filters;
      length = outputLengthOf(conv);
      if (pool === null) continue;
      const layer: PoolLayer = { kind: "pool", channels, length, ...pool };
      layers.push(layer);
      length = outputLengthOf(layer);
    }
    layers.push({ kind: "dense", inputs: channels * length, outputs: units, activation });
    return layers;
  },
  problemsOf(spec, inputs) {
    const problems = spec.stages.flatMap(({ filters, kernel, padding, pool }, i) => {
      const isSound =
        isCount(filters, 1) &&
        isCount(kernel, 1) &&
        isCount(padding, 0) &&
        (pool === null || (isCount(pool.size, 1) && isCount(pool.stride, 1)));
      return isSound
        ? []
        : [`stages[${i}]: filters, kernel, pool.size and pool.stride are whole numbers above 0`];
    });
    if (spec.stages.length === 0) problems.push("stages: none; give one or more");
    if (!isCount(spec.units, 1)) problems.push(`units: ${spec.units}; give a whole number above 0`);
    if (problems.length > 0) return problems;
    const shortest = Math.min(
      ...convCell.toLayers(spec, inputs).map((layer) => (layer.kind === "dense" ? 1 : outputLengthOf(layer))),
    );
    return shortest >= 1 ? [] : [`stages: nothing is left of ${inputs} inputs; use smaller kernels or pools`];
  },
};

function isCount(value: number, least: number): boolean {
  return Number.isInteger(value) && value >= least;
}
