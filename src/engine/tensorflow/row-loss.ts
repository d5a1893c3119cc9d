// The loss of stacked nets over rows of training sets: copies the rows into tensors, and compares outputs with targets.
//
// Legend: n nets, T target channels, τ steps, B rows of the largest minibatch; y the targets, μ and σ the outputs,
// z = (y − μ)/σ.
//   likelihood  log σ + z²/2, without the constant ½ log 2π
//   crps        σ·(z·(2Φ(z) − 1) + 2φ(z) − 1/√π), where 2Φ(z) − 1 = erf(z/√2)
//   squares     (y − μ)²

import type { TrainingSet } from "../../models/forecastnet/framing.ts";
import type { NetPlan } from "../../models/forecastnet/plan.ts";
import type { Loss } from "../../models/forecastnet/spec.ts";
import type { TensorFlow } from "./native-binding.ts";
import type { NetOutputs } from "./net-ops.ts";
import type { Tensor, Tensor3D, Tensor4D } from "./tensors.ts";

/** The rows that one net sees. */
export interface RowPick {
  readonly set: TrainingSet;
  readonly rows: Int32Array;
  /** The weight of each row in the loss, already divided by steps and targets. */
  readonly share: number;
}

export interface RowBatch {
  readonly lanes: number;
  /** [n, windowSize, B] */
  readonly window: Tensor3D;
  /** [n, τ, T, B] */
  readonly targets: Tensor4D;
  /** [n, 1, 1, B]; 0 for padding, in nets with fewer rows than B. */
  readonly rowShares: Tensor4D;
}

/** The weight of each of `count` rows if the loss is the mean over rows, steps and targets. */
export function shareOf(plan: NetPlan, count: number): number {
  return 1 / (count * plan.cells.length * plan.targets);
}

/** The caller frees the tensors. Missing rows repeat the net's first row, so that all numbers are in its range. */
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

interface LanePosition {
  readonly net: number;
  readonly lane: number;
  readonly lanes: number;
  /** Numbers of one row. */
  readonly size: number;
}

function copyRow(
  from: Float32Array,
  row: number,
  to: Float32Array,
  { net, lane, lanes, size }: LanePosition,
): void {
  let target = net * size * lanes + lane;
  for (let i = row * size; i < (row + 1) * size; i++) {
    to[target] = from[i];
    target += lanes;
  }
}

/** The loss of each net, [n]: the costs of its outputs, summed with the weights of their rows. */
export function lossOfNets(
  tf: TensorFlow,
  loss: Loss,
  outputs: NetOutputs,
  { targets, rowShares }: { readonly targets: Tensor4D; readonly rowShares: Tensor4D },
): Tensor {
  return tf.sum(tf.mul(costsOf(tf, loss, outputs, targets), rowShares), [1, 2, 3]);
}

function costsOf(tf: TensorFlow, loss: Loss, { mean, deviation }: NetOutputs, targets: Tensor4D): Tensor4D {
  if (loss === "crps") return crps(tf, mean, deviation as Tensor4D, targets);
  const squared: Tensor4D = tf.squaredDifference(targets, mean);
  if (loss === "squares") return squared;
  const σ = deviation as Tensor4D;
  return tf.add(tf.log(σ), tf.div(squared, tf.mul(tf.square(σ), 2)));
}

/**
 * Written as (y − μ)·a + σ·b with a = 2Φ(z) − 1 and b = 2φ(z) − 1/√π, whose slopes are −a by μ and b by σ: all other
 * terms cancel. The backward pass needs no more than a and b, and a σ rounded to zero gives |y − μ|.
 */
function crps(tf: TensorFlow, mean: Tensor4D, deviation: Tensor4D, targets: Tensor4D): Tensor4D {
  const withSlopes = tf.customGrad((...inputs) => {
    const [μ, σ, save] = inputs as unknown as [Tensor4D, Tensor4D, (tensors: Tensor[]) => void];
    const error = tf.sub(targets, μ);
    const z = tf.div(error, σ);
    const a = tf.erf(tf.mul(z, Math.SQRT1_2));
    const density = tf.exp(tf.mul(tf.square(z), -0.5));
    const b = tf.sub(tf.mul(density, Math.sqrt(2 / Math.PI)), 1 / Math.sqrt(Math.PI));
    save([a, b]);
    const gradFunc = (slope: Tensor, saved: Tensor[]) => [
      tf.neg(tf.mul(slope, saved[0])),
      tf.mul(slope, saved[1]),
    ];
    return { value: tf.add(tf.mul(error, a), tf.mul(σ, b)), gradFunc };
  });
  return withSlopes(mean, deviation) as Tensor4D;
}
