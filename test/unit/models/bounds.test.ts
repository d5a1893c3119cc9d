import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { boundAnswer, boundDistribution } from "../../../src/models/bounds.ts";
import { Families } from "../../../src/models/families.ts";
import type { ModelFamily } from "../../../src/models/family.ts";
import { ForecastnetError } from "../../../src/runtime/errors.ts";

const distribution = {
  mean: [-2, 5, 12],
  standardDeviation: [3, 3, 3],
  quantiles: [
    [-6, 1, 8],
    [-2, 5, 12],
    [2, 9, 16],
  ],
};

describe("a distribution", () => {
  test("is held within its bounds, but for its standard deviation", () => {
    assert.deepEqual(boundDistribution(distribution, { min: 0, max: 10 }), {
      mean: [0, 5, 10],
      standardDeviation: [3, 3, 3],
      quantiles: [
        [0, 1, 8],
        [0, 5, 10],
        [2, 9, 10],
      ],
    });
  });

  test("is itself without bounds, and keeps its arrays within them", () => {
    assert.equal(boundDistribution(distribution, undefined), distribution);
    const within = boundDistribution(distribution, { min: -10, max: Number.POSITIVE_INFINITY });
    assert.equal(within.mean, distribution.mean);
  });

  test("shows what is not finite: its model is unfit", () => {
    const broken = {
      mean: [Number.NaN],
      standardDeviation: [1],
      quantiles: [[Number.NEGATIVE_INFINITY, -1]],
    };
    const { mean, quantiles } = boundDistribution(broken, { min: 0, max: 1 });
    assert.deepEqual([mean, quantiles], [[Number.NaN], [[Number.NEGATIVE_INFINITY, 0]]]);
  });

  test("keeps its quantiles in order, whatever the bounds", () => {
    const number = fc.double({ noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(fc.array(number, { minLength: 1 }), number, number, (values, one, other) => {
        const bounds = { min: Math.min(one, other), max: Math.max(one, other) };
        const ascending = [...values].sort((a, b) => a - b);
        const empty = { mean: [], standardDeviation: [] };
        const quantiles = ascending.map((value) => [value]);
        const bounded = boundDistribution({ ...empty, quantiles }, bounds).quantiles.map(([value]) => value);
        assert.deepEqual(
          bounded,
          [...bounded].sort((a, b) => a - b),
        );
        assert.ok(bounded.every((value) => value >= bounds.min && value <= bounds.max));
      }),
    );
  });
});

test("an error stays the answer that it is", () => {
  const error = new ForecastnetError("WINDOW_UNFIT", "too short");
  assert.equal(boundAnswer(error, { min: 0, max: 1 }), error);
});

test("forecasts of any family are within the bounds of their series", async () => {
  const family = { name: "any", forecast: () => [distribution, distribution] } as unknown as ModelFamily;
  const model = { family: "any", key: "a", version: "1" };
  const input = { values: new Float64Array(4), channels: 1, originStep: 3, seasonalErrors: null };
  const [bounded, free] = await new Families([family]).forecast(
    [
      { model, input: { ...input, settings: { horizon: 3, season: 3, bounds: { min: 0, max: 10 } } } },
      { model, input: { ...input, settings: { horizon: 3, season: 3 } } },
    ],
    { levels: [0.1, 0.5, 0.9], paths: 1 },
  );
  assert.deepEqual(bounded, boundDistribution(distribution, { min: 0, max: 10 }));
  assert.equal(free, distribution);
});
