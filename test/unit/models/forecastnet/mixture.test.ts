import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { type MixtureSummary, summariseMixtures } from "../../../../src/models/forecastnet/mixture.ts";
import { normalCdf } from "../../../../src/models/forecastnet/normal-table.ts";
import { normalQuantile } from "../../../../src/models/normal.ts";
import { createRandom } from "../../../../src/runtime/random.ts";

const LEVELS = [0.001, 0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975, 0.999];

type Row = readonly (readonly [mean: number, deviation: number])[];

function summarise(rows: readonly Row[], levels: readonly number[] = LEVELS): MixtureSummary {
  const into = {
    mean: new Float64Array(rows.length),
    standardDeviation: new Float64Array(rows.length),
    quantiles: levels.map(() => new Float64Array(rows.length)),
  };
  const mean = Float64Array.from(rows.flatMap((row) => row.map(([m]) => m)));
  const deviation = Float64Array.from(rows.flatMap((row) => row.map(([, s]) => s)));
  const components = rows[0].length;
  const weight = new Float64Array(components).fill(1 / components);
  summariseMixtures({ rows: rows.length, components, mean, deviation, weight }, levels, into);
  return into;
}

function distributionOf(row: Row, q: number): number {
  const sum = row.reduce(
    (total, [mean, deviation]) =>
      total + (deviation === 0 ? Number(q >= mean) : normalCdf((q - mean) / deviation)),
    0,
  );
  return sum / row.length;
}

function bisect(row: Row, level: number): number {
  let low = Math.min(...row.map(([mean, deviation]) => mean - 10 * deviation)) - 1;
  let high = Math.max(...row.map(([mean, deviation]) => mean + 10 * deviation)) + 1;
  for (let i = 0; i < 100; i++) {
    const middle = low + (high - low) / 2;
    if (distributionOf(row, middle) < level) low = middle;
    else high = middle;
  }
  return high;
}

/** Largest distance from bisection, in standard deviations of the row. */
function worstOf(rows: readonly Row[], levels: readonly number[] = LEVELS): number {
  const { quantiles, standardDeviation } = summarise(rows, levels);
  return Math.max(
    ...rows.flatMap((row, r) =>
      levels.map((level, l) => Math.abs(quantiles[l][r] - bisect(row, level)) / standardDeviation[r]),
    ),
  );
}

describe("the distribution function", () => {
  test("agrees with published values", () => {
    const known: readonly (readonly [number, number])[] = [
      [0, 0.5],
      [1, 0.8413447460685429],
      [1.959963984540054, 0.975],
      [-2.5, 0.006209665325776132],
      [-6, 9.865876450376981e-10],
    ];
    for (const [x, expected] of known) assert.ok(Math.abs(normalCdf(x) - expected) < 1e-11, `${x}`);
  });

  test("is 0 and 1 at the ends, and never falls", () => {
    assert.deepEqual([normalCdf(-40), normalCdf(40)], [0, 1]);
    for (let x = -9; x < 9; x += 0.0037) assert.ok(normalCdf(x + 0.0037) >= normalCdf(x) - 1e-11, `${x}`);
  });

  test("has the density as its slope between grid points too", () => {
    for (const x of [-3.0039, -0.5004, 0.0021, 1.2345]) {
      const slope = (normalCdf(x + 1e-4) - normalCdf(x - 1e-4)) / 2e-4;
      const density = Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
      assert.ok(Math.abs(slope - density) < 1e-6, `${x}`);
    }
  });
});

describe("a mixture", () => {
  test("of equal components is that component", () => {
    const { mean, standardDeviation, quantiles } = summarise([Array(10).fill([3, 2])]);
    assert.deepEqual([mean[0], standardDeviation[0]], [3, 2]);
    LEVELS.forEach((level, l) => {
      assert.ok(Math.abs(quantiles[l][0] - (3 + 2 * normalQuantile(level))) < 1e-12);
    });
  });

  test("has the mean and deviation of its parts", () => {
    const { mean, standardDeviation } = summarise([
      [
        [-1, 0.5],
        [1, 1.5],
      ],
    ]);
    assert.equal(mean[0], 0);
    assert.ok(Math.abs(standardDeviation[0] - Math.sqrt(1 + (0.25 + 2.25) / 2)) < 1e-12);
  });

  test("of unequal weights is that of a component for each share of the weight", () => {
    const into = () => ({
      mean: new Float64Array(1),
      standardDeviation: new Float64Array(1),
      quantiles: LEVELS.map(() => new Float64Array(1)),
    });
    const [weighted, repeated] = [into(), into()];
    const two = { mean: Float64Array.of(-1, 2), deviation: Float64Array.of(0.5, 1.5) };
    summariseMixtures(
      { rows: 1, components: 2, ...two, weight: Float64Array.of(0.75, 0.25) },
      LEVELS,
      weighted,
    );
    const four = { mean: Float64Array.of(-1, -1, -1, 2), deviation: Float64Array.of(0.5, 0.5, 0.5, 1.5) };
    const weight = new Float64Array(4).fill(0.25);
    summariseMixtures({ rows: 1, components: 4, ...four, weight }, LEVELS, repeated);
    assert.ok(Math.abs(weighted.standardDeviation[0] - repeated.standardDeviation[0]) < 1e-12);
    LEVELS.forEach((level, l) => {
      const difference = Math.abs(weighted.quantiles[l][0] - repeated.quantiles[l][0]);
      assert.ok(difference < 1e-8, `level ${level}: ${difference}`);
    });
  });

  test("far from zero keeps its digits", () => {
    const near: Row = [
      [0, 1],
      [0.5, 0.3],
      [2, 0.7],
    ];
    const [a, b] = [summarise([near]), summarise([near.map(([m, s]) => [m + 2 ** 30, s] as const)])];
    assert.ok(Math.abs(a.standardDeviation[0] - b.standardDeviation[0]) < 1e-6);
    a.quantiles.forEach((values, l) => {
      assert.ok(Math.abs(values[0] + 2 ** 30 - b.quantiles[l][0]) < 1e-6);
    });
  });

  test("agrees with bisection to 1e-8 over steps that change slowly, as of a forecast", () => {
    const random = createRandom(4);
    const rows = Array.from(
      { length: 12 },
      (_, h): Row =>
        Array.from(
          { length: 60 },
          () => [Math.sin(h) + 0.3 * h * random.normal(), 0.5 * Math.exp(0.3 * random.normal())] as const,
        ),
    );
    const worst = worstOf(rows);
    assert.ok(worst < 1e-8, `${worst}`);
  });

  test("agrees with bisection however its components lie", () => {
    const component = fc.tuple(
      fc.double({ min: -100, max: 100, noNaN: true }),
      fc.double({ min: 0.01, max: 50, noNaN: true }),
    );
    const rows = fc.array(fc.array(component, { minLength: 5, maxLength: 5 }), {
      minLength: 1,
      maxLength: 3,
    });
    fc.assert(
      fc.property(rows, (some) => {
        const worst = worstOf(some, [0.05, 0.5, 0.9]);
        assert.ok(worst < 1e-8, `${worst}`);
      }),
      { numRuns: 300, seed: 11 },
    );
  });

  test("with a gap in the middle finds both sides", () => {
    const row: Row = [
      [-50, 0.1],
      [-50.1, 0.2],
      [50, 0.1],
      [50.2, 0.1],
    ];
    assert.ok(worstOf([row], [0.1, 0.4, 0.6, 0.9]) < 1e-8);
  });

  test("of points has its quantiles at the points", () => {
    const { quantiles, standardDeviation } = summarise(
      [
        [
          [1, 0],
          [2, 0],
          [3, 0],
          [10, 0],
        ],
      ],
      [0.1, 0.3, 0.6, 0.9],
    );
    [1, 2, 3, 10].forEach((expected, l) => {
      assert.ok(Math.abs(quantiles[l][0] - expected) < 1e-8 * standardDeviation[0], `${quantiles[l][0]}`);
    });
  });

  test("of one point only is that point at every level", () => {
    const { quantiles, standardDeviation } = summarise([Array(4).fill([5, 0])]);
    assert.equal(standardDeviation[0], 0);
    for (const values of quantiles) assert.equal(values[0], 5);
  });

  test("of points and Gaussians together never falls as the level rises", () => {
    const levels = Array.from({ length: 199 }, (_, i) => (i + 1) / 200);
    const component = fc.tuple(fc.integer({ min: -5, max: 5 }), fc.constantFrom(0, 0, 1e-9, 1e-3, 1));
    fc.assert(
      fc.property(fc.array(component, { minLength: 6, maxLength: 6 }), (row) => {
        const { quantiles } = summarise([row], levels);
        for (let l = 1; l < levels.length; l++) assert.ok(quantiles[l][0] >= quantiles[l - 1][0]);
        for (const [l, level] of levels.entries()) {
          const found = distributionOf(row, quantiles[l][0] + 1e-7);
          assert.ok(found >= level - 1e-6, `level ${level}: ${found} at ${quantiles[l][0]}`);
        }
      }),
      { numRuns: 40, seed: 12 },
    );
  });
});
