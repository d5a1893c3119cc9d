// How far two engines are apart, by one rule for every number: |a − b| against the larger of |b| and the root mean
// square of the tensor b belongs to. An entry that is small among large ones is a sum that nearly cancelled: its
// own size says nothing about the arithmetic.

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
 * The largest difference within one tensor. NaN against a number, or a wrong length, is infinitely far apart.
 * `rounding` is by how much the expected numbers may be off themselves; that much is forgiven.
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
 * A squared error is compared as any number. A log-likelihood is in nats and known up to a constant (½ log 2π is
 * left out of ours), so that its distance from zero means nothing: one nat is the least that it is compared with.
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

/** By what the spec has for a loss: only a log-likelihood is without a zero of its own. */
export function trainedLossDifference(
  { loss }: ForecastNetSpec,
  where: string,
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
): Difference {
  return lossDifference(loss === "likelihood" ? "gaussian" : "linear", where, actual, expected);
}

/**
 * The layers of an array in the layout of the weights. A layer's biases belong to the tensor of its weights, as
 * weights of an input that is always 1: many layers have a single bias, which alone has nothing to be small against.
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

export function largestOf(differences: readonly Difference[]): Difference {
  return differences.reduce((largest, one) => (one.size > largest.size ? one : largest));
}

/** Fails when any is larger than allowed; returns the largest, to be printed. */
export function assertWithin(tolerance: number, differences: readonly Difference[]): Difference {
  const largest = largestOf(differences);
  assert.ok(
    largest.size <= tolerance,
    `${largest.where} is ${largest.size.toExponential(1)} apart, more than ${tolerance}`,
  );
  return largest;
}

export function inWords({ size, where }: Difference): string {
  return `largest difference ${size.toExponential(1)} (${where})`;
}
