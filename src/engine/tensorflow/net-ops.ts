// All cells of many stacked nets, one after the other.
//
// Legend: n nets, T target channels, τ steps; lanes are sample paths or rows of a minibatch.

import { joinPositions, type Operands, runCell, type Signal, toOperands, widen } from "./cell-ops.ts";
import type { TensorFlow } from "./native-binding.ts";
import type { PanelLayout } from "./panel-layout.ts";
import { keepingResult } from "./tensor-scope.ts";
import type { Tensor3D, Tensor4D } from "./tensor-types.ts";

/** What the next cell is told of this one's output, [n, T, lanes]. */
export type Feed = (step: number, mean: Tensor3D, deviation: Tensor3D | null) => Tensor3D;

export interface NetInput {
  /** [n, windowSize, lanes], or one lane when all lanes have the same window. */
  readonly window: Tensor3D;
  readonly lanes: number;
  readonly feed: Feed;
}

/** [n, τ, T, lanes] */
export interface NetOutputs {
  readonly mean: Tensor4D;
  readonly deviation: Tensor4D | null;
}

/** `stacked` are the panels of the nets, [n, rows, columns] each. The caller tidies up. */
export function runNets(
  tf: TensorFlow,
  layout: PanelLayout,
  stacked: readonly Tensor3D[],
  input: NetInput,
): NetOutputs {
  const operands = toOperands(tf, layout, stacked, input.window);
  const means: Tensor3D[] = [];
  const deviations: Tensor3D[] = [];
  let signal: Signal = { channels: 1, fixed: null, free: input.window };
  for (let step = 0; step < layout.cells.length; step++) {
    // Freed cell by cell, so that a forecast needs room for one cell's intermediate results only.
    const { mean, deviation, next } = keepingResult(tf, () =>
      runStep(tf, layout, operands, step, signal, input),
    );
    means.push(mean);
    if (deviation !== null) deviations.push(deviation);
    if (next !== null) signal = { channels: 1, fixed: input.window, free: next };
  }
  return {
    mean: tf.stack(means, 1) as Tensor4D,
    deviation: deviations.length === 0 ? null : (tf.stack(deviations, 1) as Tensor4D),
  };
}

interface Step {
  readonly mean: Tensor3D;
  readonly deviation: Tensor3D | null;
  /** The free inputs of the next cell; null after the last. */
  readonly next: Tensor3D | null;
}

function runStep(
  tf: TensorFlow,
  layout: PanelLayout,
  operands: Operands,
  step: number,
  signal: Signal,
  { lanes, feed }: NetInput,
): Step {
  const { cells } = layout.plan;
  const result = runCell(tf, cells[step], layout.cells[step], operands, signal);
  const mean = widen(tf, result.mean, lanes);
  const deviation = result.deviationSums && tf.softplus(widen(tf, result.deviationSums, lanes));
  const isLast = step === cells.length - 1;
  return {
    mean,
    deviation,
    next: isLast ? null : joinPositions(tf, result.hidden, feed(step, mean, deviation)),
  };
}
