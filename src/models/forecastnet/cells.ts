// The kinds of cells: for each, its spec, the layers that it consists of, and the problems of an unchecked spec. To add a
// kind, add it here and to `cellKinds`; no engine changes.

import { choiceProblems, countProblems, isRecord, shown } from "../field-problems.ts";
import {
  type Activation,
  activations,
  type ConvLayer,
  type Layer,
  outputLengthOf,
  type PoolLayer,
} from "./layers.ts";

/** A spec from outside: any field may be missing or have another type. */
export type Unchecked<Spec> = { readonly [Field in keyof Spec]?: unknown };

export interface CellKind<Spec> {
  /** The layers from the cell's input vector to its output. The last one is dense. */
  toLayers(spec: Spec, inputs: number): readonly Layer[];
  /** Each problem as `field: what is wrong; what is allowed`; empty when the spec is valid. Only the kind is checked before. */
  problemsOf(spec: Unchecked<Spec>, inputs: number): readonly string[];
}

/** The densely connected cell of the paper (FN, FN2). */
export interface DenseCellSpec {
  readonly kind: "dense";
  /** Neurons of each layer, first to last. The paper has two of 24. */
  readonly units: readonly number[];
  readonly activation: Activation;
}

export const denseCell: CellKind<DenseCellSpec> = {
  toLayers({ units, activation }, inputs) {
    return units.map((outputs, i): Layer => {
      return { kind: "dense", inputs: i === 0 ? inputs : units[i - 1], outputs, activation };
    });
  },
  problemsOf({ units, activation }) {
    const problems = choiceProblems("activation", activation, activations);
    if (!Array.isArray(units) || units.length === 0) {
      return [...problems, `units: ${shown(units)}; give a list of one or more whole numbers above 0`];
    }
    return [...problems, ...units.flatMap((count, i) => countProblems(`units[${i}]`, count))];
  },
};

export interface ConvStage {
  readonly filters: number;
  readonly kernel: number;
  readonly padding: number;
  readonly pool: { readonly size: number; readonly stride: number } | null;
}

/**
 * The convolutional cell (cFN, cFN2): convolutions over the one-channel concatenation [window, previous cell's output,
 * previous output], each with an optional average pool, then one dense layer. The paper has two stages of 24 filters of
 * 2 with pools of 2. The authors' published code has padded kernels of 5 and 3 and no pools.
 */
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

export type CellSpec = DenseCellSpec | ConvCellSpec;

type CellTable = { readonly [K in CellSpec["kind"]]: CellKind<Extract<CellSpec, { kind: K }>> };

const cellKinds: CellTable = { dense: denseCell, conv: convCell };

export const cellKindNames = Object.keys(cellKinds) as readonly CellSpec["kind"][];

export function layersOf(cell: CellSpec, inputs: number): readonly Layer[] {
  return kindOf(cell).toLayers(cell, inputs);
}

/** Problems of a cell from outside. `inputs` is the length of its input vector. */
export function cellProblems(cell: unknown, inputs: number): readonly string[] {
  if (!isRecord(cell)) return [`kind: missing in ${shown(cell)}; give an object with a kind`];
  const unknown = choiceProblems("kind", cell.kind, cellKindNames);
  return unknown.length > 0 ? unknown : kindOf(cell as unknown as CellSpec).problemsOf(cell, inputs);
}

function kindOf(cell: CellSpec): CellKind<CellSpec> {
  // Safe: the type of the table maps each kind to its own spec.
  return cellKinds[cell.kind] as CellKind<CellSpec>;
}
