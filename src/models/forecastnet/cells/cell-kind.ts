// What a kind of cell must bring: its spec, the layers it is made of, and what is wrong with a spec. A new kind
// is one file beside this one and a line in `cell-kinds.ts`.

import type { Layer } from "../layers.ts";

/** A spec of which any field may be missing or of another type. */
export type Unchecked<Spec> = { readonly [Field in keyof Spec]?: unknown };

export interface CellKind<Spec> {
  /** The chain from a cell's input vector to its output; the last layer is dense. */
  toLayers(spec: Spec, inputs: number): readonly Layer[];
  /**
   * Each problem as `field: what is wrong and what is allowed`; empty when the spec is sound. Nothing but the kind
   * is known of the spec: it may come from outside.
   */
  problemsOf(spec: Unchecked<Spec>, inputs: number): readonly string[];
}
