// The SIMD executor against the reference: paths, loss, every derivative, training and validation, for all kinds of plans.

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { TrainingSession } from "../../../../src/engine/executor.ts";
import { loadKernel } from "../../../../src/engine/simd/kernel.ts";
import { planNet } from "../../../../src/models/forecastnet/plan.ts";
import { type ForecastNetSpec, specOf } from "../../../../src/models/forecastnet/spec.ts";
import {
  type DifferentiatingExecutor,
  referenceExecutor,
  simdExecutor,
} from "../../../rig/differentiating-executors.ts";
import { randomNumbers, randomSet, randomWeights } from "./random-nets.ts";

const conv = (
  kernel: number,
  padding: number,
  filters: number,
  pool: { size: number; stride: number } | null,
) => ({ kernel, padding, filters, pool });

const authorsCell = {
  kind: "conv",
  stages: [conv(5, 2, 24, null), conv(3, 1, 24, null)],
  units: 24,
  activation: "relu",
} as const;

const specs: Readonly<Record<string, ForecastNetSpec>> = {
  FN: specOf("FN", 5),
  FN2: specOf("FN2", 5),
  cFN: specOf("cFN", 5),
  cFN2: specOf("cFN2", 5),
  "the authors' conv cell": specOf("cFN", 3, { cell: authorsCell }),
  "one step": specOf("FN", 1),
  "odd sizes": specOf("FN", 3, {
    inputLength: 7,
    cell: { kind: "dense", units: [5, 3, 9], activation: "sigmoid" },
  }),
  "a ranked probability score": specOf("FN", 4, { loss: "crps" }),
  "linear activations": specOf("FN2", 3, { cell: { kind: "dense", units: [6], activation: "linear" } }),
  "two channels, both forecast": specOf("FN", 4, { channels: 2, targets: [0, 1] }),
  "six channels, five forecast, with a shortcut": specOf("FN", 3, {
    channels: 6,
    targets: [0, 1, 2, 4, 5],
    shortcut: "linear",
  }),
  "a shortcut": specOf("FN", 4, { shortcut: "linear" }),
  "a shortcut around convolutions": specOf("cFN2", 4, { shortcut: "linear" }),
  "odd convolutions": specOf("cFN", 4, {
    inputLength: 9,
    channels: 2,
    targets: [1],
    cell: {
      kind: "conv",
      stages: [
        conv(3, 2, 5, { size: 3, stride: 2 }),
        conv(1, 0, 7, null),
        conv(4, 3, 6, { size: 2, stride: 3 }),
      ],
      units: 11,
      activation: "sigmoid",
    },
  }),
  "a kernel longer than the window": specOf("cFN", 3, {
    inputLength: 2,
    cell: { kind: "conv", stages: [conv(5, 2, 4, null)], units: 6, activation: "relu" },
  }),
  "different cells": specOf("FN", 5, {
    shortcut: "linear",
    overrides: {
      1: authorsCell,
      2: { kind: "dense", units: [9], activation: "sigmoid" },
      4: { kind: "conv", stages: [conv(2, 0, 3, { size: 2, stride: 2 })], units: 5, activation: "relu" },
    },
  }),
};

/** Compares the largest difference with the largest number. */
function assertClose(
  actual: ArrayLike<number> | null,
  expected: ArrayLike<number> | null,
  what: string,
): void {
  if (actual === null || expected === null) {
    assert.equal(actual, expected, what);
    return;
  }
  assert.equal(actual.length, expected.length, what);
  let worst = 0;
  let largest = 0;
  for (let i = 0; i < expected.length; i++) {
    const difference = Math.abs(actual[i] - expected[i]);
    worst = Number.isNaN(difference) ? Number.POSITIVE_INFINITY : Math.max(worst, difference);
    largest = Math.max(largest, Math.abs(expected[i]));
  }
  assert.ok(worst <= 1e-4 * largest, `${what}: off by ${worst} of ${largest}`);
}

describe("the simd executor equals the reference", () => {
  const reference = referenceExecutor();
  let simd: DifferentiatingExecutor;
  before(async () => {
    simd = simdExecutor(await loadKernel());
  });

  for (const [name, spec] of Object.entries(specs)) {
    const plan = planNet(spec);
    const weights = randomWeights(plan, 7);

    test(`${name}: sample paths`, () => {
      const window = randomNumbers(plan.windowSize, 3);
      for (const paths of spec.output === "linear" ? [1] : [1, 37, 64]) {
        const values = randomNumbers(spec.horizon * plan.targets * paths, 5, 2);
        const noise = spec.output === "linear" ? null : { paths, values };
        const task = { net: { plan, weights }, window, noise };
        const [expected] = reference.sample([task]);
        const [actual] = simd.sample([task]);
        assertClose(actual.mean, expected.mean, `means of ${paths} paths`);
        assertClose(actual.deviation, expected.deviation, `deviations of ${paths} paths`);
      }
    });

    test(`${name}: loss and every derivative`, () => {
      // One case of each kind of cell has more rows than one run takes; the reference is slow.
      for (const count of name === "FN" || name === "cFN" ? [3, 70] : [3, 13]) {
        const rows = randomSet(plan, count, 11);
        const expected = reference.differentiate({ plan, weights }, rows);
        const actual = simd.differentiate({ plan, weights }, rows);
        assertClose(actual.mean, expected.mean, "means");
        assertClose(actual.deviation, expected.deviation, "deviations");
        assertClose([actual.loss], [expected.loss], "loss");
        for (const [h, cell] of plan.cells.entries()) {
          const heads = cell.deviation === null ? [cell.mean] : [cell.mean, cell.deviation];
          for (const { kind, weightsAt, biasesAt } of [...cell.layers, ...heads]) {
            const part = (g: Float64Array) => g.subarray(weightsAt, biasesAt + 1);
            assertClose(part(actual.gradient), part(expected.gradient), `cell ${h}, ${kind}, ${count} rows`);
          }
        }
        assertClose(actual.gradient, expected.gradient, `gradient of ${count} rows`);
      }
    });

    test(`${name}: training and validation`, () => {
      const task = { weights, training: randomSet(plan, 40, 21), validation: randomSet(plan, 19, 23) };
      const rows = Int32Array.from({ length: 21 }, (_, i) => (i * 7) % 40);
      const follow = (session: TrainingSession) => {
        const adam = [{ learningRate: 1e-2, weightDecay: 0.1, shortcutRate: 0.5 }];
        const losses = [0, 1, 2].map(() => session.step([rows], adam)[0]);
        losses.push(session.validate("forced")[0], session.validate("free")[0]);
        const trained = session.weights(0);
        session.close();
        return { losses, trained };
      };
      const expected = follow(reference.train(plan, [task]));
      const actual = follow(simd.train(plan, [task]));
      for (const [i, loss] of expected.losses.entries()) {
        assert.ok(
          Math.abs(actual.losses[i] / loss - 1) < 2e-3,
          `loss ${i}: ${actual.losses[i]}, not ${loss}`,
        );
      }
      // Adam's first steps are nearly the signs of derivatives, so a derivative near 0 can reverse the step of a weight.
      const off = expected.trained.filter((w, i) => Math.abs(w - actual.trained[i]) > 1e-4).length;
      assert.ok(off <= expected.trained.length / 200, `${off} of ${expected.trained.length} weights differ`);
    });
  }
});
