import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  differentiateNet,
  lossOfNet,
  type Rows,
  samplePaths,
} from "../../../../src/engine/reference/reference-executor.ts";
import type { CellSpec } from "../../../../src/models/forecastnet/cells.ts";
import { planNet } from "../../../../src/models/forecastnet/plan.ts";
import { type ForecastNetSpec, specOf } from "../../../../src/models/forecastnet/spec.ts";
import { seededNet, seededRows } from "../../../golden/support/seeded-net.ts";
import { assertGradient } from "./gradient-check.ts";

const dense: CellSpec = { kind: "dense", units: [6, 5], activation: "relu" };
const conv: CellSpec = {
  kind: "conv",
  stages: [
    { filters: 2, kernel: 3, padding: 1, pool: { size: 2, stride: 1 } },
    { filters: 3, kernel: 2, padding: 0, pool: { size: 2, stride: 2 } },
  ],
  units: 3,
  activation: "relu",
};
const unpooled: CellSpec = {
  kind: "conv",
  stages: [{ filters: 3, kernel: 3, padding: 1, pool: null }],
  units: 2,
  activation: "sigmoid",
};

/** A net and rows in double precision. */
function setUp(spec: ForecastNetSpec): {
  plan: ReturnType<typeof planNet>;
  weights: Float64Array;
  rows: Rows;
} {
  const { plan, weights } = seededNet(spec, 11);
  const { count, windows, targets } = seededRows(plan, 3, 12);
  const rows = { count, windows: Float64Array.from(windows), targets: Float64Array.from(targets) };
  const doubles = Float64Array.from(weights);
  // Deviations near 1: with a tiny one the loss is too steep for finite differences.
  for (const { deviation } of plan.cells) {
    if (deviation !== null) doubles.fill(1, deviation.biasesAt, deviation.biasesAt + deviation.outputs);
  }
  return { plan, weights: doubles, rows };
}

const options: Readonly<Record<string, Partial<ForecastNetSpec>>> = {
  "dense cells": { cell: dense },
  "sigmoid cells": { cell: { ...dense, activation: "sigmoid" } },
  "linear cells": { cell: { ...dense, activation: "linear" } },
  "convolutional cells": { cell: conv },
  "convolutional cells without pools": { cell: unpooled },
  "a shortcut": { cell: dense, shortcut: "linear" },
  "a shortcut around convolutions": { cell: conv, shortcut: "linear" },
  "many targets": { cell: dense, channels: 3, targets: [0, 2] },
  "many targets and a shortcut": { cell: dense, channels: 2, targets: [0, 1], shortcut: "linear" },
  "cells that differ": { cell: dense, overrides: { 0: conv, 2: unpooled } },
};

describe("the gradient of the whole net equals finite differences", () => {
  for (const [name, changes] of Object.entries(options)) {
    for (const [kind, form, criterion] of [
      ["Gaussian output", "FN", "likelihood"],
      ["Gaussian output and the CRPS", "FN", "crps"],
      ["linear output", "FN2", "squares"],
    ] as const) {
      test(`${name}, ${kind}`, () => {
        const { plan, weights, rows } = setUp(specOf(form, 4, { ...changes, loss: criterion }));
        const { gradient, loss } = differentiateNet(plan, weights, rows);
        const forcedLoss = () => lossOfNet(plan, weights, rows, "forced");
        assert.ok(Math.abs(loss / forcedLoss() - 1) < 1e-12, "both functions compute the same loss");
        assertGradient("gradient", weights, gradient, forcedLoss);
        assert.ok(
          gradient.filter((g) => g !== 0).length > gradient.length / 3,
          "most of the gradient is not zero",
        );
      });
    }
  }
});

/** Cells of one linear neuron: h = a·x + b·h′ + c·y′ + d, μ = e·h + f. */
const byHand = specOf("FN2", 2, {
  inputLength: 1,
  cell: { kind: "dense", units: [1], activation: "linear" },
});

describe("a net computed by hand", () => {
  const plan = planNet(byHand);
  // Cell 0: h = 2x + 1, μ = 3h. Cell 1: h = 5x + 7h′ + 11y′, μ = h − 1.
  const weights = Float64Array.of(2, 1, 3, 0, 5, 7, 11, 0, 1, -1);
  const rows = { count: 1, windows: Float64Array.of(1), targets: Float64Array.of(10, 20) };

  test("feeds the true output to the next cell in training", () => {
    const { mean, deviation, loss } = differentiateNet(plan, weights, rows);
    assert.deepEqual(mean, Float64Array.of(9, 5 + 21 + 110 - 1));
    assert.equal(deviation, null);
    assert.equal(loss, (1 ** 2 + 115 ** 2) / 2);
  });

  test("feeds its own output in forecasts", () => {
    const { mean } = samplePaths(plan, weights, rows.windows, null);
    assert.deepEqual(mean, Float64Array.of(9, 5 + 21 + 99 - 1));
    assert.equal(lossOfNet(plan, weights, rows, "free"), (1 ** 2 + 104 ** 2) / 2);
  });

  test("has a loss that is the mean over rows, steps and targets", () => {
    const twice = { count: 2, windows: Float64Array.of(1, 1), targets: Float64Array.of(10, 20, 10, 20) };
    const [one, two] = [differentiateNet(plan, weights, rows), differentiateNet(plan, weights, twice)];
    assert.equal(two.loss, one.loss);
    assert.deepEqual(two.gradient, one.gradient);
    assert.deepEqual(two.mean, Float64Array.of(9, 9, 135, 135), "outputs are [step][target][row]");
  });
});

describe("Gaussian paths", () => {
  const spec = specOf("FN", 2, { inputLength: 1, cell: { kind: "dense", units: [1], activation: "linear" } });
  const plan = planNet(spec);
  // Cell 0: h = x, μ = h, a = 0. Cell 1: h = y′, μ = h, a = 50.
  const weights = Float64Array.of(1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 50);
  const draws = { paths: 3, values: Float64Array.of(-1, 0, 2, 0, 0, 0) };

  test("feed μ + σz of their own noise to the next cell", () => {
    const { mean, deviation } = samplePaths(plan, weights, Float64Array.of(4), draws);
    const σ = Math.log(2);
    assert.deepEqual(mean, Float64Array.of(4, 4, 4, 4 - σ, 4, 4 + 2 * σ));
    assert.deepEqual(deviation, Float64Array.of(σ, σ, σ, 50, 50, 50));
  });

  test("have a loss without ½ log 2π, and free validation feeds the mean", () => {
    const rows = { count: 1, windows: Float64Array.of(4), targets: Float64Array.of(5, 6) };
    const first = Math.log(Math.log(2)) + 1 / (2 * Math.log(2) ** 2);
    const forced = (first + Math.log(50) + 1 / 5000) / 2;
    const free = (first + Math.log(50) + 4 / 5000) / 2;
    assert.ok(Math.abs(lossOfNet(plan, weights, rows, "forced") - forced) < 1e-12);
    assert.ok(Math.abs(lossOfNet(plan, weights, rows, "free") - free) < 1e-12);
  });

  test("have as CRPS the integral of the squared difference between distribution function and step", () => {
    const sharp = planNet({ ...spec, loss: "crps" });
    const rows = { count: 1, windows: Float64Array.of(4), targets: Float64Array.of(5, 6) };
    const expected = (area(5, 4, Math.log(2)) + area(6, 5, 50)) / 2;
    const found = lossOfNet(sharp, weights, rows, "forced");
    assert.ok(Math.abs(found / expected - 1) < 1e-4, `${found}, not ${expected}`);
    assert.equal(differentiateNet(sharp, weights, rows).loss, found);
  });

  test("have deviations without a floor and without overflow", () => {
    for (const [a, expected] of [
      [-40, Math.exp(-40)],
      [-700, Math.exp(-700)],
      [800, 800],
    ]) {
      const extreme = weights.slice();
      extreme[5] = a;
      const { deviation } = samplePaths(plan, extreme, Float64Array.of(4), draws);
      assert.ok(deviation !== null && Math.abs(deviation[0] / expected - 1) < 1e-12, `softplus of ${a}`);
    }
  });
});

/** ∫ (Φ((x − μ)/σ) − [x ≥ y])² dx by the midpoint rule over ten deviations; Φ is the sum of its density. */
function area(y: number, μ: number, σ: number): number {
  const steps = 2 ** 17;
  const width = (20 * σ) / steps;
  let cdf = 0;
  let sum = 0;
  for (let i = 0; i < steps; i++) {
    const x = μ - 10 * σ + (i + 0.5) * width;
    const mass = (Math.exp(-(((x - μ) / σ) ** 2) / 2) / (σ * Math.sqrt(2 * Math.PI))) * width;
    sum += (cdf + mass / 2 - (x >= y ? 1 : 0)) ** 2 * width;
    cdf += mass;
  }
  return sum;
}
