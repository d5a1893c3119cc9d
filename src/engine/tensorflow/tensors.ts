// Types of tensors, and scopes that free the tensors created inside them, with types that TensorFlow's `tidy` lacks.

import type * as tfjs from "@tensorflow/tfjs";
import type { TensorFlow } from "./native-binding.ts";

export type Tensor = tfjs.Tensor;
export type Tensor2D = tfjs.Tensor2D;
export type Tensor3D = tfjs.Tensor3D;
export type Tensor4D = tfjs.Tensor4D;

/** Frees all tensors except those in the result of `work`, an object or array of tensors and nulls. */
export function keepingResult<T extends object>(tf: TensorFlow, work: () => T): T {
  return tf.tidy(work as unknown as () => tfjs.TensorContainer) as unknown as T;
}

/**
 * Frees all tensors and returns the numbers that `work` read from them. The result bypasses `tidy`, which would search
 * every element of an array of numbers for tensors.
 */
export function keepingNumbers<T>(tf: TensorFlow, work: () => T): T {
  const found: T[] = [];
  tf.tidy(() => {
    found.push(work());
  });
  return found[0];
}
