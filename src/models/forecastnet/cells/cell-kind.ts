// What a kind of cell must bring: its spec, the layers it is made of, and what is wrong with a spec. A new kind
// is one file beside this one and a line in `cell-kinds.ts`.

import type { Layer } from "../layers.ts";

export interface CellKind<Spec> {
  /** The chain from a cell's input vector to its output; the last layer is dense. */
  toLayers(spec: Spec, inputs: number): readonly Layer[];
  /** Each problem as `field: what is wrong and what is allowed`; empty when the spec is sound. */
  problemsOf(spec: Spec, inputs: number): readonly string[];
}
