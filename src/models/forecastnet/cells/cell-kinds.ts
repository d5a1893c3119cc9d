// The kinds of cells there are.

import { choiceProblems, isRecord, shown } from "../field-problems.ts";
import type { Layer } from "../layers.ts";
import type { CellKind } from "./cell-kind.ts";
import { type ConvCellSpec, convCell } from "./conv-cell.ts";
import { type DenseCellSpec, denseCell } from "./dense-cell.ts";

export type CellSpec = DenseCellSpec | ConvCellSpec;

type CellTable = { readonly [K in CellSpec["kind"]]: CellKind<Extract<CellSpec, { kind: K }>> };

const cellKinds: CellTable = { dense: denseCell, conv: convCell };

export const cellKindNames = Object.keys(cellKinds) as readonly CellSpec["kind"][];

export function layersOf(cell: CellSpec, inputs: number): readonly Layer[] {
  return kindOf(cell).toLayers(cell, inputs);
}

/** What is wrong with a cell that comes from outside; `inputs` is the length of its input vector. */
export function cellProblems(cell: unknown, inputs: number): readonly string[] {
  if (!isRecord(cell)) return [`kind: missing in ${shown(cell)}; give an object with a kind`];
  const unknown = choiceProblems("kind", cell.kind, cellKindNames);
  return unknown.length > 0 ? unknown : kindOf(cell as unknown as CellSpec).problemsOf(cell, inputs);
}

function kindOf(cell: CellSpec): CellKind<CellSpec> {
  // The table's type ties each kind to its own spec; looking it up by a spec's kind keeps that tie.
  return cellKinds[cell.kind] as CellKind<CellSpec>;
}
