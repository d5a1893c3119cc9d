// The plan of a net: the layers of a spec and the place of each in the one flat array of weights. The array holds, for each
// cell h = 0 … τ−1 in turn:
//   for each layer of the cell:  weights, row-major by output ([out][in], or [filter][channel][kernel]); then biases
//   mean layer:                  weights [target][input]; biases [target]
//   deviation layer:             the same; absent when the output is linear
// A cell's input is [window, previous cell's output, previous output]; cell 0 sees the window only. The window is
// flattened with the channels of a step side by side. With a linear shortcut the mean layer's input is
// [cell output, cell input], otherwise the cell output alone. The deviation layer always sees the cell output alone.

import { layersOf } from "./cells.ts";
import { biasCountOf, type DenseLayer, type Layer, outputSizeOf, weightCountOf } from "./layers.ts";
import { cellAt, type ForecastNetSpec } from "./spec.ts";

/** A layer, and where its numbers start in the flat array. */
export type Placed<L extends Layer = Layer> = L & { readonly weightsAt: number; readonly biasesAt: number };

export interface CellPlan {
  /** Length of the cell's input vector. */
  readonly inputs: number;
  readonly layers: readonly Placed[];
  /** Length of the cell's output vector. */
  readonly outputs: number;
  readonly mean: Placed<DenseLayer>;
  /** Null when the output is linear. */
  readonly deviation: Placed<DenseLayer> | null;
}

export interface NetPlan {
  readonly spec: ForecastNetSpec;
  /** Length of the flattened window. */
  readonly windowSize: number;
  /** Length of one output: the number of target channels. */
  readonly targets: number;
  readonly cells: readonly CellPlan[];
  readonly weightCount: number;
}

export function planNet(spec: ForecastNetSpec): NetPlan {
  const windowSize = spec.inputLength * spec.channels;
  const targets = spec.targets.length;
  const cells: CellPlan[] = [];
  let end = 0;
  const place = <L extends Layer>(layer: L): Placed<L> => {
    const weightsAt = end;
    const biasesAt = weightsAt + weightCountOf(layer);
    end = biasesAt + biasCountOf(layer);
    return { ...layer, weightsAt, biasesAt };
  };
  for (let h = 0; h < spec.horizon; h++) {
    const inputs = h === 0 ? windowSize : windowSize + cells[h - 1].outputs + targets;
    const layers = layersOf(cellAt(spec, h), inputs).map(place);
    const outputs = outputSizeOf(layers[layers.length - 1]);
    const seen = spec.shortcut === "linear" ? outputs + inputs : outputs;
    const mean = place(linearLayer(seen, targets));
    const deviation = spec.output === "gaussian" ? place(linearLayer(outputs, targets)) : null;
    cells.push({ inputs, layers, outputs, mean, deviation });
  }
  return { spec, windowSize, targets, cells, weightCount: end };
}

/** Ranges of the linear shortcut's weights: in each row of a mean layer, the part that reads the cell's input. */
export function shortcutsOf(plan: NetPlan): readonly { readonly from: number; readonly to: number }[] {
  if (plan.spec.shortcut === "none") return [];
  return plan.cells.flatMap(({ mean, outputs }) =>
    Array.from({ length: mean.outputs }, (_, target) => {
      const row = mean.weightsAt + target * mean.inputs;
      return { from: row + outputs, to: row + mean.inputs };
    }),
  );
}

/** Length of the input vector of one cell. The cell before it must be valid. */
export function cellInputSize(spec: ForecastNetSpec, cell: number): number {
  const windowSize = spec.inputLength * spec.channels;
  if (cell === 0) return windowSize;
  // A cell ends in a dense layer, so its output size is the same whatever its input.
  const layers = layersOf(cellAt(spec, cell - 1), windowSize);
  return windowSize + outputSizeOf(layers[layers.length - 1]) + spec.targets.length;
}

function linearLayer(inputs: number, outputs: number): DenseLayer {
  return { kind: "dense", inputs, outputs, activation: "linear" };
}
