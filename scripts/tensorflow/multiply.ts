// A process of the verification: loads TensorFlow as the worker does, multiplies two matrices whose product is known, and
// prints a report as one line of JSON.

import { loadTensorFlow } from "../../src/engine/tensorflow/native-binding.ts";

export interface MultiplyReport {
  readonly backend: string;
  readonly device: string;
  readonly version: string;
  readonly reason: string;
  readonly loadMs: number;
  /** Wrong entries of the product. */
  readonly wrong: number;
}

const size = 64;
const startMs = performance.now();
const { tf, backend, device, version, reason } = await loadTensorFlow();
const loadMs = Math.round(performance.now() - startMs);

// a(i, k) = i + k and b(k, j) = k − j: small whole numbers, so that float32 sums are exact in any order.
const indices = [...Array(size).keys()];
const a = tf.tensor2d(indices.map((i) => indices.map((k) => i + k)));
const b = tf.tensor2d(indices.map((k) => indices.map((j) => k - j)));
const product = await tf.matMul(a, b).data();
const wrong = product.filter((entry, at) => {
  const [i, j] = [Math.floor(at / size), at % size];
  return entry !== indices.reduce((sum, k) => sum + (i + k) * (k - j), 0);
}).length;

const report: MultiplyReport = { backend, device, version, reason, loadMs, wrong };
console.log(JSON.stringify(report));
