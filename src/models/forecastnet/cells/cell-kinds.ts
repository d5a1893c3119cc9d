// The kinds of cells there are.

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

export function cellProblems(cell: CellSpec, inputs: number): readonly string[] {
  const isKnown = (cellKindNames as readonly string[]).includes(cell.kind);
  if (!isKnown) return [`kind: ${String(cell.kind)}; known are ${cellKindNames.join(", ")}`];
  return kindOf(cell).problemsOf(cell, inputs);
}

function kindOf(cell: CellSpec): CellKind<CellSpec> {
  // The table's type ties each kind to its own spec; looking it up by a spec's kind keeps that tie.
  return cellKinds[cell.kind] as CellKind<CellSpec>;
}
