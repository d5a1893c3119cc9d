// The paper's densely connected cell (FN, FN2): layers of neurons one after the other.

import type { Activation, Layer } from "../layers.ts";
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
  problemsOf({ units }) {
    const isSound = units.length > 0 && units.every((n) => Number.isInteger(n) && n > 0);
    return isSound ? [] : [`units: ${JSON.stringify(units)}; give one or more whole numbers above 0`];
  },
};
