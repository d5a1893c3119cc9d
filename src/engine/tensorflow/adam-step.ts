// One Adam step of stacked nets, each with its own learning rate, decay and number of steps taken.
//
// Legend: g the gradient, m and v its running first and second moments, k the steps taken, η the learning rate,
// λ the weight decay (0 for biases and shortcuts), r the shortcut rate (1 for all others); s₁ = 1 − β₁ᵏ and
// s₂ = 1 − β₂ᵏ correct the moments' bias towards their start at zero.
//   m ← β₁m + (1 − β₁)g,  v ← β₂v + (1 − β₂)g²
//   w ← (1 − η·λ)w − r·η · (m / s₁) / (√(v / s₂) + ε)
// An op costs a pass over memory, so every factor that is one number a net is taken out of the tensors. Kept are
// M = m / (1 − β₁) and V = v / (1 − β₂):
//   M ← β₁M + g,  V ← β₂V + g²,  w ← (1 − η·λ)w − c · M / (√V + d)
//   with q = √(s₂ / (1 − β₂)),  c = r · η · q · (1 − β₁) / s₁,  d = ε · q

import type { AdamOptions } from "../executor.ts";
import type { TensorFlow } from "./native-binding.ts";
import type { PanelRole } from "./panel-layout.ts";
import type { Tensor3D } from "./tensor-types.ts";

const β1 = 0.9;
const β2 = 0.999;
const ε = 1e-8;

/** One panel of the stack, [n, rows, columns] each. */
export interface PanelState {
  readonly w: Tensor3D;
  /** M of the legend. */
  readonly m: Tensor3D;
  /** V of the legend. */
  readonly v: Tensor3D;
}

/** Factors of each net for panels of one role, [n, 1, 1]. */
export interface StepFactors {
  readonly c: Tensor3D;
  readonly d: Tensor3D;
  /** Null when no net decays. */
  readonly shrink: Tensor3D | null;
}

/** `steps` counts the one that is being taken. */
export function toFactors(
  tf: TensorFlow,
  options: readonly AdamOptions[],
  steps: readonly number[],
): Readonly<Record<PanelRole, StepFactors>> {
  const perNet = (factor: (option: AdamOptions, step: number) => number) =>
    tf.tensor3d(
      options.map((option, i) => factor(option, steps[i])),
      [options.length, 1, 1],
    );
  const q = (k: number) => Math.sqrt((1 - β2 ** k) / (1 - β2));
  const decays = options.some(({ weightDecay }) => weightDecay !== 0);
  const wayOf = ({ learningRate: η }: AdamOptions, k: number) => (η * q(k) * (1 - β1)) / (1 - β1 ** k);
  const biases = { c: perNet(wayOf), d: perNet((_option, k) => ε * q(k)), shrink: null };
  const shrink = decays ? perNet(({ learningRate, weightDecay }) => 1 - learningRate * weightDecay) : null;
  const hasOwnRate = options.some(({ shortcutRate }) => shortcutRate !== 1);
  const ofShortcuts = hasOwnRate ? perNet((option, k) => option.shortcutRate * wayOf(option, k)) : biases.c;
  return { weights: { ...biases, shrink }, biases, shortcuts: { ...biases, c: ofShortcuts } };
}

/** The next state; the caller disposes of the one before. */
export function stepPanel(
  tf: TensorFlow,
  { w, m, v }: PanelState,
  g: Tensor3D,
  { c, d, shrink }: StepFactors,
): PanelState {
  const nextM: Tensor3D = tf.add(tf.mul(m, β1), g);
  const nextV: Tensor3D = tf.add(tf.mul(v, β2), tf.square(g));
  const change = tf.mul(tf.div(nextM, tf.add(tf.sqrt(nextV), d)), c);
  return { w: tf.sub(shrink === null ? w : tf.mul(w, shrink), change), m: nextM, v: nextV };
}
