// Scopes that free the tensors made inside them, with types that TensorFlow's own `tidy` does not have.

import type * as tfjs from "@tensorflow/tfjs";
import type { TensorFlow } from "./native-binding.ts";

/** Frees all but the tensors in what `work` returns: an object or array of tensors, with nulls where there is none. */
export function keepingResult<T extends object>(tf: TensorFlow, work: () => T): T {
  return tf.tidy(work as unknown as () => tfjs.TensorContainer) as unknown as T;
}

/**
 * Frees all tensors and returns the numbers that `work` read from them. TensorFlow never sees the result: it
 * would look for tensors in every element of an array of numbers.
 */
export function keepingNumbers<T>(tf: TensorFlow, work: () => T): T {
  const found: T[] = [];
  tf.tidy(() => {
    found.push(work());
  });
  return found[0];
}
