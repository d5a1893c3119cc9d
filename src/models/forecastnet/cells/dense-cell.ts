// The paper's densely connected cell (FN, FN2): layers of neurons one after the other.

import { choiceProblems, countProblems, shown } from "../field-problems.ts";
import { type Activation, activations, type Layer } from "../layers.ts";
import type { CellKind } from "./cell-kind.ts";

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
