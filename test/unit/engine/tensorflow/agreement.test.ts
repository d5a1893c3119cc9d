// The TensorFlow executor against the reference: outputs, loss, every gradient, training and validation.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { NetExecutor, TrainingSession } from "../../../../src/engine/executor.ts";
import type { CellSpec } from "../../../../src/models/forecastnet/cells.ts";
import { planNet } from "../../../../src/models/forecastnet/plan.ts";
import { type ForecastNetSpec, specOf } from "../../../../src/models/forecastnet/spec.ts";
import { referenceExecutor } from "../../../rig/differentiating-executors.ts";
import {
  assertClose,
  onBackends,
  randomRows,
  randomWeights,
  sampleTask,
  withExecutor,
} from "./on-backends.ts";

const conv = (
  filters: number,
  kernel: number,
  padding: number,
  pool: { size: number; stride: number } | null,
) => ({ filters, kernel, padding, pool });

function convCell(...stages: ReturnType<typeof conv>[]): CellSpec {
  return { kind: "conv", stages, units: 4, activation: "sigmoid" };
}

const specs: Readonly<Record<string, ForecastNetSpec>> = {
  FN: specOf("FN", 4),
  cFN: specOf("cFN", 3),
  FN2: specOf("FN2", 4),
  cFN2: specOf("cFN2", 3),
  "a net of one step": specOf("FN", 1),
  "several channels, targets and a shortcut": specOf("FN", 3, {
    channels: 3,
    targets: [0, 2],
    shortcut: "linear",
  }),
  "cells that differ, and a shortcut around convolutions": specOf("cFN", 3, {
    shortcut: "linear",
    overrides: { 1: { kind: "dense", units: [5], activation: "sigmoid" } },
  }),
  "the CRPS": specOf("FN", 4, { loss: "crps" }),
  "the CRPS around convolutions, with a shortcut": specOf("cFN", 3, { loss: "crps", shortcut: "linear" }),
  "the authors' convolutions": specOf("cFN", 4, { cell: convCell(conv(6, 5, 2, null), conv(6, 3, 1, null)) }),
  "pools with strides larger than their size": specOf("cFN", 4, {
    inputLength: 11,
    cell: convCell(conv(3, 3, 2, { size: 2, stride: 3 }), conv(4, 2, 1, { size: 3, stride: 2 })),
  }),
  "a pool that sees only the window": specOf("cFN", 4, {
    inputLength: 12,
    cell: convCell(conv(3, 1, 0, { size: 2, stride: 8 }), conv(4, 2, 1, null)),
  }),
  "kernels longer than the window": specOf("cFN", 5, {
    inputLength: 3,
    cell: convCell(conv(2, 3, 1, null), conv(3, 4, 3, { size: 4, stride: 1 })),
  }),
};

const reference = referenceExecutor();

onBackends((loaded) => {
  for (const [name, spec] of Object.entries(specs)) {
    const plan = planNet(spec);

    test(`${name}: every sample path equals the reference`, () => {
      withExecutor(loaded(), (executor) => {
        const tasks = [1, 11, 21].map((seed) => sampleTask(plan, seed));
        const expected = reference.sample(tasks);
        for (const [i, { mean, deviation }] of executor.sample(tasks).entries()) {
          assertClose(mean, expected[i].mean, "mean");
          assertClose(deviation, expected[i].deviation, "deviation");
        }
      });
    });

    test(`${name}: outputs, loss and every derivative equal the reference`, () => {
      withExecutor(loaded(), (executor) => {
        const net = { plan, weights: randomWeights(plan, 3) };
        const rows = randomRows(plan, 5, 4);
        const actual = executor.differentiate(net, rows);
        const expected = reference.differentiate(net, rows);
        assertClose(actual.mean, expected.mean, "mean");
        assertClose(actual.deviation, expected.deviation, "deviation");
        assertClose([actual.loss], [expected.loss], "loss");
        assertClose(actual.gradient, expected.gradient, "gradient");
      });
    });

    test(`${name}: training and validation follow the reference`, () => {
      withExecutor(loaded(), (executor) => {
        const actual = trainThree(executor);
        const expected = trainThree(reference);
        for (const [i, losses] of expected.losses.entries())
          assertClose(actual.losses[i], losses, `losses ${i}`);
        for (const [i, weights] of expected.weights.entries()) assertNear(actual.weights[i], weights);
      });
    });

    /** The losses of every step and of validation, and the final weights. */
    function trainThree(executor: NetExecutor): Trained {
      const session = executor.train(
        plan,
        [5, 6, 7].map((seed) => ({
          weights: randomWeights(plan, seed),
          training: randomRows(plan, 8, seed + 10),
          validation: randomRows(plan, seed - 3, seed + 20),
        })),
      );
      const losses = fourSteps(session);
      const validated = (["forced", "free"] as const).map((criterion) => session.validate(criterion));
      const weights = [0, 1, 2].map((net) => session.weights(net));
      session.close();
      return { losses: [...losses, ...validated], weights };
    }
  }
});

interface Trained {
  readonly losses: readonly ArrayLike<number>[];
  readonly weights: readonly Float32Array[];
}

/**
 * Compares vectors, not single weights: Adam divides a gradient by its size, so that a weight whose gradient is a
 * rounding error can move in either direction.
 */
function assertNear(actual: Float32Array, expected: Float32Array): void {
  assert.equal(actual.length, expected.length);
  const apart = Math.hypot(...expected.map((value, i) => value - actual[i])) / Math.hypot(...expected);
  assert.ok(apart <= 1e-4, `the weights are ${apart} apart`);
}

/** Minibatches of unequal length; the second net skips the second and third step. */
function fourSteps(session: TrainingSession): number[][] {
  const adam = [
    { learningRate: 1e-2, weightDecay: 0.1, shortcutRate: 1 },
    { learningRate: 1e-3, weightDecay: 0, shortcutRate: 0 },
    { learningRate: 1e-4, weightDecay: 0.01, shortcutRate: 0.1 },
  ];
  return [0, 1, 2, 3].map((step) => {
    const isSkipping = step === 1 || step === 2;
    const rows = [Int32Array.of(0, 3, 5), isSkipping ? null : Int32Array.of(7, step), Int32Array.of(1)];
    return [...session.step(rows, adam)].filter((_loss, net) => rows[net] !== null);
  });
}
