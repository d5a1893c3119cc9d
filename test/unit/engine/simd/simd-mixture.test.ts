// The kernel's quantiles against those of models/forecastnet/mixture.ts, for many kinds of mixtures.

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { loadKernel } from "../../../../src/engine/simd/kernel.ts";
import { createSimdSummarise } from "../../../../src/engine/simd/simd-mixture.ts";
import {
  type MixtureSummary,
  type Mixtures,
  type Summarise,
  summariseMixtures,
} from "../../../../src/models/forecastnet/mixture.ts";
import { randomNumbers } from "./random-nets.ts";

const levels = [0.001, 0.023, 0.104, 0.237, 0.497, 0.763, 0.904, 0.977, 0.999];
const rows = 40;

function summaryOf(summarise: Summarise, mixtures: Mixtures): MixtureSummary {
  const into = {
    mean: new Float64Array(mixtures.rows),
    standardDeviation: new Float64Array(mixtures.rows),
    quantiles: levels.map(() => new Float64Array(mixtures.rows)),
  };
  summarise(mixtures, levels, into);
  return into;
}

/** Unequal, with the sum 1. */
function weightsOf(components: number): Float64Array {
  const parts = Float64Array.from({ length: components }, (_, i) => 1 + (i % 3));
  const sum = parts.reduce((total, part) => total + part, 0);
  return parts.map((part) => part / sum);
}

type Component = (u: number, v: number) => readonly [mean: number, deviation: number];

const kinds: Readonly<Record<string, Component>> = {
  "similar components on a high level": (u, v) => [1e6 + 100 * u, 60 + 20 * v],
  "two distant groups": (u, v) => [(v > 0 ? 50 : -50) + u, Math.exp(2 * v)],
  "widths of all magnitudes": (u, v) => [u, Math.exp(8 * v)],
  "components without width": (u) => [u, 0],
  "wide components and components without width": (u, v) => [u, v > 0 ? 0 : 1],
};

describe("quantiles in the kernel", () => {
  let simd: Summarise;
  before(async () => {
    simd = createSimdSummarise(await loadKernel());
  });

  for (const [name, component] of Object.entries(kinds)) {
    // With these counts no level is on a flat part of F, where any number between two points is a quantile.
    for (const components of [1, 7, 100]) {
      test(`agree for ${components} × ${name}`, () => {
        const [u, v] = [5, 6].map((seed) => randomNumbers(rows * components, seed));
        const parts = [...u].map((value, i) => component(value, v[i]));
        const mixtures = {
          rows,
          components,
          mean: Float64Array.from(parts, ([mean]) => mean),
          deviation: Float64Array.from(parts, ([, deviation]) => deviation),
          weight: weightsOf(components),
        };
        const expected = summaryOf(summariseMixtures, mixtures);
        const actual = summaryOf(simd, mixtures);
        assert.deepEqual(actual.mean, expected.mean);
        assert.deepEqual(actual.standardDeviation, expected.standardDeviation);
        for (const [l, level] of levels.entries()) {
          for (let row = 0; row < rows; row++) {
            const difference = Math.abs(actual.quantiles[l][row] - expected.quantiles[l][row]);
            const spread = expected.standardDeviation[row];
            assert.ok(
              difference <= 1e-4 * spread,
              `level ${level}, row ${row}: off by ${difference} of ${spread}`,
            );
          }
        }
      });
    }
  }

  test("do not depend on earlier mixtures", async () => {
    const mixtures = {
      rows: 1,
      components: 3,
      mean: Float64Array.of(0, 1, 5),
      deviation: Float64Array.of(1, 2, 1),
      weight: weightsOf(3),
    };
    const fresh = createSimdSummarise(await loadKernel());
    assert.deepEqual(summaryOf(simd, mixtures), summaryOf(fresh, mixtures));
  });

  test("come with a mean of NaN if a component is NaN", () => {
    const mixtures = {
      rows: 1,
      components: 2,
      mean: Float64Array.of(0, Number.NaN),
      deviation: Float64Array.of(1, 1),
      weight: weightsOf(2),
    };
    assert.ok(Number.isNaN(summaryOf(simd, mixtures).mean[0]));
  });
});
