// Rows of training sets brought into the shape the stacked nets take: lanes side by side, nets on top.
//
// Legend: n nets, B rows of the longest minibatch, T target channels, τ steps.

import type { TrainingSet } from "../../models/forecastnet/framing.ts";
import type { NetPlan } from "../../models/forecastnet/plan.ts";
import type { TensorFlow } from "./native-binding.ts";
import type { Tensor3D, Tensor4D } from "./tensor-types.ts";

/** Which rows of which set one net sees, and how much each counts. */
export interface RowPick {
  readonly set: TrainingSet;
  readonly rows: Int32Array;
  /** The part of the loss that each row makes up, already divided by steps and targets. */
  readonly share: number;
}

export interface RowBatch {
  readonly lanes: number;
  /** [n, windowSize, B] */
  readonly window: Tensor3D;
  /** [n, τ, T, B] */
  readonly targets: Tensor4D;
  /** [n, 1, 1, B]; 0 where a net has fewer rows than B. */
  readonly rowShares: Tensor4D;
}

/** What each of `count` rows counts when the loss is the mean over rows, steps and targets. */
export function shareOf(plan: NetPlan, count: number): number {
  return 1 / (count * plan.cells.length * plan.targets);
}

/** The caller tidies up. Missing rows are filled with the net's first, so that no number is out of the ordinary. */
export function toRowBatch(tf: TensorFlow, plan: NetPlan, picks: readonly RowPick[]): RowBatch {
  const { windowSize, targets } = plan;
  const steps = plan.cells.length;
  const lanes = Math.max(1, ...picks.map(({ rows }) => rows.length));
  const windowValues = new Float32Array(picks.length * windowSize * lanes);
  const targetValues = new Float32Array(picks.length * steps * targets * lanes);
  const shares = new Float32Array(picks.length * lanes);
  for (const [net, { set, rows, share }] of picks.entries()) {
    if (set.count === 0) continue;
    const filler = rows.length === 0 ? 0 : rows[0];
    for (let lane = 0; lane < lanes; lane++) {
      const row = lane < rows.length ? rows[lane] : filler;
      copyRow(set.windows, row, windowValues, { net, lane, lanes, size: windowSize });
      copyRow(set.targets, row, targetValues, { net, lane, lanes, size: steps * targets });
    }
    shares.fill(share, net * lanes, net * lanes + rows.length);
  }
  return {
    lanes,
    window: tf.tensor3d(windowValues, [picks.length, windowSize, lanes]),
    targets: tf.tensor4d(targetValues, [picks.length, steps, targets, lanes]),
    rowShares: tf.tensor4d(shares, [picks.length, 1, 1, lanes]),
  };
}

interface Lane {
  readonly net: number;
  readonly lane: number;
  readonly lanes: number;
  /** Numbers of one row. */
  readonly size: number;
}

function copyRow(from: Float32Array, row: number, to: Float32Array, { net, lane, lanes, size }: Lane): void {
  let target = net * size * lanes + lane;
  for (let i = row * size; i < (row + 1) * size; i++) {
    to[target] = from[i];
    target += lanes;
  }
}
