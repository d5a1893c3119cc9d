// Measures how far two executors differ, by one rule for every number: |a − b| relative to the larger of |b| and the
// root mean square of b's tensor. A number that is small among large ones is a sum that nearly cancelled: its own size
// says nothing about the precision of the arithmetic.

import assert from "node:assert/strict";
import { biasCountOf, type Layer, weightCountOf } from "../../../src/models/forecastnet/layers.ts";
import type { NetPlan, Placed } from "../../../src/models/forecastnet/plan.ts";
import type { ForecastNetSpec, OutputKind } from "../../../src/models/forecastnet/spec.ts";

export interface Difference {
  /** Relative, by the rule above. */
  readonly size: number;
  readonly where: string;
}

/**
 * The largest difference within one tensor; infinite for NaN and for a wrong length. `rounding` is the error of the
 * expected numbers, which is tolerated.
 */
export function differenceOf(
  where: string,
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  rounding = 0,
): Difference {
  if (actual.length !== expected.length) {
    return { size: Infinity, where: `${where}: ${actual.length} numbers, not ${expected.length}` };
  }
  let squares = 0;
  for (let i = 0; i < expected.length; i++) squares += expected[i] ** 2;
  const rms = Math.sqrt(squares / expected.length);
  let largest: Difference = { size: 0, where };
  for (let i = 0; i < expected.length; i++) {
    const distance = Math.max(0, Math.abs(actual[i] - expected[i]) - rounding);
    const size = distance === 0 ? 0 : distance / Math.max(Math.abs(expected[i]), rms);
    // Written so that NaN counts as larger.
    if (!(size <= largest.size)) {
      const found = `${where}[${i}]: ${actual[i]}, not ${expected[i]}`;
      largest = { size: Number.isNaN(size) ? Infinity : size, where: found };
    }
  }
  return largest;
}

/**
 * A squared error is compared like any number. A log-likelihood is in nats and defined up to a constant (ours omits
 * ½ log 2π), so that its distance from zero means nothing: it is compared with one nat at least.
 */
export function lossDifference(
  output: OutputKind,
  where: string,
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
): Difference {
  const found = differenceOf(where, actual, expected);
  if (output === "linear" || found.size === Infinity) return found;
  const sizes = Array.from(expected, (loss, i) => Math.abs(actual[i] - loss) / Math.max(1, Math.abs(loss)));
  return { ...found, size: Math.max(...sizes) };
}

/** The same by the loss of a spec: only a log-likelihood has no meaningful zero. */
export function trainedLossDifference(
  { loss }: ForecastNetSpec,
  where: string,
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
): Difference {
  return lossDifference(loss === "likelihood" ? "gaussian" : "linear", where, actual, expected);
}

/**
 * The layers of an array in the order of the weights. A layer's biases belong to the tensor of its weights, as weights
 * of an input that is always 1: a layer's single bias would otherwise be compared with itself alone.
 */
function layersIn(
  plan: NetPlan,
): readonly { readonly name: string; readonly at: number; readonly end: number }[] {
  return plan.cells.flatMap(({ layers, mean, deviation }, h) => {
    const named: [string, Placed<Layer>][] = [
      ...layers.map((layer, i): [string, Placed<Layer>] => [`layer ${i} (${layer.kind})`, layer]),
      ...Object.entries(deviation === null ? { mean } : { mean, deviation }),
    ];
    return named
      .filter(([, layer]) => weightCountOf(layer) > 0)
      .map(([name, layer]) => {
        return { name: `cell ${h} ${name}`, at: layer.weightsAt, end: layer.biasesAt + biasCountOf(layer) };
      });
  });
}

export function gradientDifference(
  plan: NetPlan,
  actual: Float64Array,
  expected: Float64Array,
  rounding = 0,
): Difference {
  if (actual.length !== expected.length) return differenceOf("gradient", actual, expected);
  const tensors = layersIn(plan).map(({ name, at, end }) =>
    differenceOf(`gradient of ${name}`, actual.subarray(at, end), expected.subarray(at, end), rounding),
  );
  return largestOf(tensors);
}

function largestOf(differences: readonly Difference[]): Difference {
  return differences.reduce((largest, one) => (one.size > largest.size ? one : largest));
}

/** Fails if any is larger than the tolerance; returns the largest, for printing. */
export function assertWithin(tolerance: number, differences: readonly Difference[]): Difference {
  const largest = largestOf(differences);
  assert.ok(
    largest.size <= tolerance,
    `${largest.where} differs by ${largest.size.toExponential(1)}, more than ${tolerance}`,
  );
  return largest;
}

export function inWords({ size, where }: Difference): string {
  return `largest difference ${size.toExponential(1)} (${where})`;
}
