// One teacher-forced pass of one net with the gradient of its loss, brought back into the layout of the plan: for
// comparing engines number by number.

import type { TrainingSet } from "../../models/forecastnet/framing.ts";
import type { Derivatives } from "../executor.ts";
import { lossOfNets } from "./loss-ops.ts";
import { runNets } from "./net-ops.ts";
import { fromPanel, toPanel } from "./panel-layout.ts";
import { shareOf, toRowBatch } from "./row-batch.ts";
import { keepingNumbers } from "./tensor-scope.ts";
import type { Tensor, Tensor3D } from "./tensor-types.ts";
import type { StackSetup } from "./training-stack.ts";

export function differentiateNet(
  { tf, layout, loss }: StackSetup,
  weights: Float32Array,
  set: TrainingSet,
): Derivatives {
  return keepingNumbers(tf, () => {
    const { plan, panels } = layout;
    const rows = Int32Array.from({ length: set.count }, (_, row) => row);
    const batch = toRowBatch(tf, plan, [{ set, rows, share: shareOf(plan, set.count) }]);
    const { window, lanes, targets } = batch;
    const stacked = panels.map((panel) =>
      tf.tensor3d(toPanel(panel, [weights]), [1, panel.rows, panel.columns]),
    );
    const truth = tf.unstack(targets, 1) as Tensor3D[];
    const run = (w: readonly Tensor3D[]) =>
      runNets(tf, layout, w, { window, lanes, feed: (step) => truth[step] });
    const { value, grads } = tf.valueAndGrads((...w: Tensor[]) =>
      lossOfNets(tf, loss, run(w as Tensor3D[]), batch),
    )(stacked, tf.ones([1]));
    const gradient = new Float64Array(plan.weightCount);
    for (const [i, panel] of panels.entries()) fromPanel(panel, grads[i].dataSync(), gradient);
    const { mean, deviation } = run(stacked);
    return {
      mean: Float64Array.from(mean.dataSync()),
      deviation: deviation && Float64Array.from(deviation.dataSync()),
      loss: value.dataSync()[0],
      gradient,
    };
  });
}
