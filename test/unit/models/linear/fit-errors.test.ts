import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type ErrorItems,
  type ErrorModel,
  errorQuantile,
  featureCount,
  featuresOf,
  quantileOf,
  spreadOf,
} from "../../../../src/models/linear/error-model.ts";
import { crossFit, fitErrors } from "../../../../src/models/linear/fit-errors.ts";
import { createRandom } from "../../../../src/runtime/random.ts";

const scope = { season: 4, channels: 1, outputs: 3, spans: 1e9 };
const plain = { spread: "by step", shapes: 1 } as const;

interface Case {
  readonly output: number;
  readonly error: number;
  /** Mean change from season to season. */
  readonly seasonal?: number;
  readonly height?: number;
}

function itemsOf(cases: readonly Case[]): ErrorItems {
  return {
    outputs: Int32Array.from(cases, ({ output }) => output),
    errors: Float64Array.from(cases, ({ error }) => error),
    features: Float64Array.from(cases.flatMap(({ seasonal = 0 }) => [1, seasonal, 0, 0, 0])),
    heights: Float64Array.from(cases, ({ height = 0.5 }) => height),
  };
}

function spreadIn(model: ErrorModel, seasonal: number, output = 0): number {
  const features = Float64Array.of(1, seasonal, 0, 0, 0);
  return spreadOf(model, features, 0, output);
}

/** Errors of three steps, which grow with the change from season to season. */
function changeable(count: number, seed: number): ErrorItems {
  const random = createRandom(seed);
  return itemsOf(
    Array.from({ length: count }, (_, i) => {
      const seasonal = i % 2 === 0 ? 0.1 : 4;
      return { output: i % 3, seasonal, error: (0.05 + seasonal) * random.normal() };
    }),
  );
}

describe("the spread of errors", () => {
  test("is wide where the series changes from season to season, and narrow where it repeats", () => {
    const { form, models } = crossFit([changeable(600, 1), changeable(600, 2)], scope);
    assert.equal(form.spread, "by situation");
    const [model] = models;
    assert.ok(model !== null);
    const ratio = spreadIn(model, 4) / spreadIn(model, 0.1);
    assert.ok(ratio > 15 && ratio < 45, `the ratio of the spreads is ${ratio}; of the errors it is 27`);
  });

  test("depends on the step only where the situation says nothing", () => {
    const random = createRandom(3);
    const noise = () =>
      itemsOf(
        Array.from({ length: 300 }, (_, i) => ({
          output: i % 3,
          error: random.normal(),
          seasonal: Math.abs(random.normal()),
        })),
      );
    assert.deepEqual(crossFit([noise(), noise()], scope).form, plain);
  });

  test("has its own size at every step, averaged with the steps beside it", () => {
    const random = createRandom(4);
    const sizes = [1, 3, 9];
    const items = itemsOf(
      Array.from({ length: 12_000 }, (_, i) => ({ output: i % 3, error: sizes[i % 3] * random.normal() })),
    );
    const model = fitErrors(items, plain, scope);
    const [first, second, third] = [0, 1, 2].map((output) => spreadIn(model, 0, output));
    // Neighbours are averaged: 2, 4.3 and 6 times the size of a normal number.
    assert.ok(Math.abs(second / first / (13 / 6) - 1) < 0.05, `second to first step: ${second / first}`);
    assert.ok(Math.abs(third / first / 3 - 1) < 0.05, `third to first step: ${third / first}`);
  });

  test("never leaves what was seen by far: a window that went wild does not blow it up", () => {
    const model = fitErrors(changeable(600, 5), { spread: "by situation", shapes: 1 }, scope);
    assert.ok(spreadIn(model, 1e9) <= 2.5 * spreadIn(model, 4), `it is ${spreadIn(model, 1e9)}`);
    assert.ok(spreadIn(model, 0) > 0, "nor does a flat window close it");
  });

  test("of a step without an observed value is as wide as the widest, and of errors that are all zero is none", () => {
    const gap = fitErrors(
      itemsOf([
        { output: 0, error: 0.1 },
        { output: 0, error: -0.1 },
      ]),
      plain,
      { ...scope, outputs: 5 },
    );
    assert.equal(spreadIn(gap, 0, 4), Math.max(...[0, 1, 2, 3].map((output) => spreadIn(gap, 0, output))));
    const flat = fitErrors(itemsOf([0, 1, 2].map((output) => ({ output, error: 0 }))), plain, scope);
    for (const output of [0, 1, 2])
      assert.equal(spreadIn(flat, 0, output) * errorQuantile(flat, 0.5, 0.9), 0);
  });
});

describe("steps without any error beside steps with errors", () => {
  test("give finite spreads in any form", () => {
    const cases = [0, 1, 2, 3, 4].flatMap((output) =>
      [-1, 1].map((sign) => ({ output, error: output === 4 ? sign : 0, seasonal: output })),
    );
    for (const spread of ["by step", "by situation"] as const) {
      const model = fitErrors(itemsOf(cases), { spread, shapes: 2 }, { ...scope, outputs: 5 });
      for (const numbers of [model.steps, model.weights, model.limits, model.low, model.high])
        assert.ok(numbers.every(Number.isFinite), `${spread}: ${numbers}`);
      assert.equal(spreadIn(model, 0, 0), 0);
    }
  });
});

describe("the shape of errors", () => {
  test("keeps skew", () => {
    const random = createRandom(2);
    const skewed = itemsOf(
      Array.from({ length: 4_000 }, () => ({ output: 0, error: -Math.log(random.uniform()) })),
    );
    const { low } = fitErrors(skewed, plain, { ...scope, spans: 0.01 });
    assert.ok(quantileOf(low, 0.95) > -2 * quantileOf(low, 0.05), "the upper tail is the longer one");
    assert.ok(
      Math.abs(quantileOf(low, 0.5)) < 0.05,
      "and from so little, the median stays that of the model",
    );
  });

  test("of low forecasts differs from that of high ones where a series has a floor", () => {
    const random = createRandom(6);
    const fold = () =>
      itemsOf(
        Array.from({ length: 800 }, (_, i) => {
          const size = -Math.log(random.uniform()) - Math.LN2;
          return { output: 0, height: i % 2, error: i % 2 === 0 ? size : -size };
        }),
      );
    const { form, models } = crossFit([fold(), fold()], scope);
    assert.equal(form.shapes, 2);
    const [model] = models;
    assert.ok(model !== null);
    const width = (height: number, level: number) => Math.abs(errorQuantile(model, height, level));
    assert.ok(width(0, 0.95) > 2 * width(0, 0.05), "low forecasts err upwards");
    assert.ok(width(1, 0.05) > 2 * width(1, 0.95), "high forecasts err downwards");
    for (const height of [0, 0.3, 1])
      for (let l = 1; l < 20; l++)
        assert.ok(errorQuantile(model, height, l / 20) >= errorQuantile(model, height, (l - 1) / 20));
  });

  test("is wider the less there was to judge by", () => {
    const items = itemsOf([-2, -1, 0, 1, 2].map((error) => ({ output: 0, error })));
    const widths = [1, 4, 100].map((spans) =>
      quantileOf(fitErrors(items, plain, { ...scope, spans }).low, 0.9),
    );
    assert.ok(widths[0] > widths[1] && widths[1] > widths[2], `widths ${widths.join(", ")}`);
  });
});

describe("a situation", () => {
  test("is described by how the phase of a step changed, the last season, and where the forecast lies", () => {
    const window = Float64Array.of(0, 10, 0, 20, 0, 40);
    const { values, heights } = featuresOf(
      { window, centres: Float64Array.of(0, 30), units: [7] },
      { horizon: 2, channels: 1 },
      2,
    );
    // Phase 0 never changes, phase 1 by 10 and by 20: 15 on average, shared with the phase beside it.
    assert.deepEqual([...values.subarray(0, featureCount)], [7, 7.5, 10, 0, 0]);
    assert.deepEqual([...values.subarray(featureCount)], [7, 7.5, 10, 30, 10]);
    assert.deepEqual([...heights], [0, 0.75]);
  });

  test("of a flat window has its forecast in the middle", () => {
    const flat = { window: new Float64Array(4).fill(3), centres: Float64Array.of(3, 3), units: [1] };
    assert.deepEqual([...featuresOf(flat, { horizon: 2, channels: 1 }, 2).heights], [0.5, 0.5]);
  });
});
