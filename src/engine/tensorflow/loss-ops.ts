// What the outputs of stacked nets cost against the truth.
//
// Legend: n nets, T target channels, τ steps, B rows; y the truth, μ and σ the outputs, z = (y − μ)/σ.
//   likelihood  log σ + z²/2, the constant ½ log 2π left out
//   crps        σ·(z·(2Φ(z) − 1) + 2φ(z) − 1/√π), where 2Φ(z) − 1 = erf(z/√2)
//   squares     (y − μ)²

import type { Loss } from "../../models/forecastnet/spec.ts";
import type { TensorFlow } from "./native-binding.ts";
import type { NetOutputs } from "./net-ops.ts";
import type { Tensor, Tensor4D } from "./tensor-types.ts";

/**
 * The loss of each net, [n]: the costs of its outputs, summed with the weights of their rows. `targets` is
 * [n, τ, T, B]; `rowShares` is [n, 1, 1, B], and 0 for rows that only fill up.
 */
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
 * Written as (y − μ)·a + σ·b with a = 2Φ(z) − 1 and b = 2φ(z) − 1/√π, whose slopes are −a by μ and b by σ: all the
 * other terms cancel. So nothing is left for the way back, and a σ rounded to zero leaves the plain |y − μ|.
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
