// The convolutional cell (cFN, cFN2): convolutions over the one-channel concatenation [window, previous cell's
// output, previous output], each with an optional average pool, then one dense layer. The paper's cell has two
// stages of 24 filters of 2 with pools of 2; the authors' published code has kernels of 5 and 3, padded, no pools.

import { choiceProblems, countProblems, isRecord, shown } from "../field-problems.ts";
import {
  type Activation,
  activations,
  type ConvLayer,
  type Layer,
  outputLengthOf,
  type PoolLayer,
} from "../layers.ts";
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
      const layer: PoolLayer = { kind: "pool", channels, length, size: pool.size, stride: pool.stride };
      layers.push(layer);
      length = outputLengthOf(layer);
    }
    layers.push({ kind: "dense", inputs: channels * length, outputs: units, activation });
    return layers;
  },
  problemsOf(spec, inputs) {
    const { stages, units, activation } = spec;
    const problems = [
      ...choiceProblems("activation", activation, activations),
      ...countProblems("units", units),
    ];
    if (!Array.isArray(stages) || stages.length === 0) {
      return [...problems, `stages: ${shown(stages)}; give a list of one or more`];
    }
    problems.push(...stages.flatMap((stage, i) => stageProblems(stage, `stages[${i}]`)));
    if (problems.length > 0) return problems;
    const layers = convCell.toLayers(spec as ConvCellSpec, inputs);
    const isAnyLeft = layers.every((layer) => layer.kind === "dense" || outputLengthOf(layer) >= 1);
    return isAnyLeft ? [] : [`stages: nothing is left of ${inputs} inputs; use smaller kernels or pools`];
  },
};

function stageProblems(stage: unknown, name: string): string[] {
  if (!isRecord(stage)) return [`${name}: ${shown(stage)}; give filters, kernel, padding and pool`];
  const { filters, kernel, padding, pool } = stage;
  const problems = [
    ...countProblems(`${name}.filters`, filters),
    ...countProblems(`${name}.kernel`, kernel),
    ...countProblems(`${name}.padding`, padding, { least: 0 }),
  ];
  if (pool === null) return problems;
  if (!isRecord(pool)) return [...problems, `${name}.pool: ${shown(pool)}; give null, or size and stride`];
  return [
    ...problems,
    ...countProblems(`${name}.pool.size`, pool.size),
    ...countProblems(`${name}.pool.stride`, pool.stride),
  ];
}
