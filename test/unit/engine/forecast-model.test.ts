import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { NetExecutor } from "../../../src/engine/executor.ts";
import { forecastModels } from "../../../src/engine/forecast-model.ts";
import { createReferenceExecutor } from "../../../src/engine/reference/reference-executor.ts";
import type { ForecastNetModel } from "../../../src/models/forecastnet/model.ts";
import { normalCdf } from "../../../src/models/forecastnet/normal-table.ts";
import { type Framing, specOf } from "../../../src/models/forecastnet/spec.ts";
import { ForecastnetError } from "../../../src/runtime/errors.ts";
import {
  assertClose,
  cell,
  executorOf,
  forecast,
  isDistribution,
  memberOf,
  modelOf,
  options,
  spec,
  still,
  window,
} from "./support/still-net.ts";

describe("a forecast", () => {
  test("is in raw units", () => {
    const executor = executorOf(({ step }) => step / 10, 0.2);
    const { mean, standardDeviation, quantiles } = forecast(modelOf([memberOf(spec)]), {}, executor);
    assertClose(mean, [10, 10.5, 11]);
    assertClose(standardDeviation, [1, 1, 1]);
    assertClose(
      quantiles[0],
      [10, 10.5, 11].map((value) => value - 1.2815515655),
    );
    assertClose(quantiles[1], [10, 10.5, 11]);
  });

  test("reverses the framing of its window", () => {
    const framing: Framing = { level: "last", scale: "deviation" };
    const deviation = Math.sqrt((1.75 ** 2 + 0.25 ** 2 + 0.75 ** 2 + 2.25 ** 2) / 4);
    const { mean, standardDeviation } = forecast(
      modelOf([memberOf({ ...spec, framing })]),
      {},
      executorOf(() => 1),
    );
    assertClose(
      mean,
      [14, 14, 14].map((value) => value + deviation),
    );
    assertClose(standardDeviation, [deviation, deviation, deviation]);
  });

  test("of several targets has the steps of each target in order", () => {
    const two = specOf("FN", 2, { cell, inputLength: 2, channels: 2, targets: [0, 1] });
    const model = modelOf([memberOf(two)], { scaler: { offset: [0, 100], scale: [1, 10] } });
    const executor = executorOf(({ step, target }) => step + 5 * target);
    assertClose(forecast(model, {}, executor).mean, [0, 1, 150, 160]);
  });

  test("is the same every time and at every position of a batch", () => {
    const executor = createReferenceExecutor();
    const model = modelOf([memberOf(spec)]);
    const other = { model, window: Float64Array.of(1, 2, 3, 4) };
    const [first, , third] = forecastModels(executor, [{ model, window }, other, { model, window }], options);
    assert.deepEqual(first, third);
    assert.deepEqual(forecastModels(executor, [{ model, window }], options), [first]);
  });

  test("of a real net has the moments of the paths that its executor sampled", () => {
    const executor = createReferenceExecutor();
    let sampled: readonly number[] = [];
    const spying: NetExecutor = {
      ...executor,
      sample: (tasks) => {
        const [{ mean, deviation }] = executor.sample(tasks);
        const z = tasks[0].noise?.values ?? [];
        sampled = Array.from(mean, (μ, i) => 10 + 5 * (μ + (deviation?.[i] ?? 0) * z[i]));
        return [{ mean, deviation }];
      },
    };
    const { mean, standardDeviation, quantiles } = forecast(
      modelOf([memberOf(spec)]),
      { paths: 200 },
      spying,
    );
    for (let h = 0; h < 3; h++) {
      const paths = sampled.slice(h * 200, (h + 1) * 200);
      const centre = paths.reduce((sum, value) => sum + value, 0) / 200;
      const deviation = Math.sqrt(paths.reduce((sum, value) => sum + (value - centre) ** 2, 0) / 200);
      const below = paths.filter((value) => value < quantiles[0][h]).length / 200;
      assert.ok(Math.abs(centre - mean[h]) < 0.05 * standardDeviation[h], `mean ${h}`);
      assert.ok(Math.abs(deviation / standardDeviation[h] - 1) < 0.05, `deviation ${h}`);
      assert.ok(Math.abs(below - 0.1) <= 0.03, `share below the tenth: ${below}`);
    }
  });

  test("is widened around its mean by the model's spread", () => {
    const model = modelOf([memberOf(spec)]);
    const [plain, wide] = [null, Float32Array.of(1, 2, 0.5)].map((spread) =>
      forecast(
        { ...model, spread },
        {},
        executorOf(({ path }) => path % 2),
      ),
    );
    assert.deepEqual(plain.mean, wide.mean);
    [1, 2, 0.5].forEach((factor, h) => {
      const around = (value: number) => plain.mean[h] + factor * (value - plain.mean[h]);
      assertClose([wide.standardDeviation[h]], [factor * plain.standardDeviation[h]]);
      plain.quantiles.forEach((values, l) => {
        assertClose([wide.quantiles[l][h]], [around(values[h])]);
      });
    });
  });
});

describe("paths with gaps between them", () => {
  const twoGroups = executorOf(({ path }) => (path % 2 === 0 ? -10 : 10), 0.1);
  const forecastOf = (paths: number) => forecast(modelOf([memberOf(spec)]), { paths }, twoGroups);

  test("are spread to fill them, and mean and deviation stay the same", () => {
    const [few, many] = [forecastOf(8), forecastOf(4_000)];
    assertClose(few.mean, [...many.mean]);
    assertClose(few.standardDeviation, [...many.standardDeviation]);
    // The tenth of two narrow groups is in the lower one; that of eight paths is spread far around it.
    const lowerGroup = 10 - 50;
    assert.ok(Math.abs(many.quantiles[0][0] - lowerGroup) < 0.2 * 50, `${many.quantiles[0][0]}`);
    assert.ok(few.quantiles[0][0] < many.quantiles[0][0]);
  });

  test("that are equal stay exactly as they are", () => {
    const { mean, standardDeviation } = forecast(
      modelOf([memberOf(spec)]),
      { paths: 8 },
      executorOf(() => 0.3, 0.1),
    );
    assert.equal(mean[0], 10 + 5 * Math.fround(0.3));
    assert.equal(standardDeviation[0], 5 * Math.fround(0.1));
  });
});

describe("a linear member", () => {
  const linear = specOf("FN2", 2, { cell, inputLength: 4 });
  const errors = Array.from({ length: 101 }, (_, i) => (i - 50) / 50);
  const residuals = Float32Array.from([...errors, ...errors.map((e) => 3 * e)]);
  const model = modelOf([memberOf(linear, { residuals })]);

  test("is as wide as its held-out errors at each step", () => {
    const { mean, standardDeviation, quantiles } = forecast(
      model,
      { paths: 100 },
      executorOf(() => 1),
    );
    assertClose(mean, [15, 15], 1e-4);
    // Uniform on ±1 net unit, which is 5 raw units: deviation 5/√3, tenth at −4.
    assert.ok(Math.abs(standardDeviation[0] / (5 / Math.sqrt(3)) - 1) < 0.02, `${standardDeviation[0]}`);
    assert.ok(Math.abs(standardDeviation[1] / standardDeviation[0] - 3) < 1e-4);
    assert.ok(Math.abs(quantiles[0][0] - (15 - 4)) < 0.15, `${quantiles[0][0]}`);
  });

  test("with fewer errors than paths interpolates between them", () => {
    const few = modelOf([memberOf(linear, { residuals: Float32Array.of(-1, 0, 1, -1, 0, 1) })]);
    const levels = Array.from({ length: 19 }, (_, i) => (i + 1) / 20);
    const { quantiles } = forecast(few, { paths: 60, levels }, still);
    const found = quantiles.map((values) => values[0]);
    for (let l = 1; l < found.length; l++) assert.ok(found[l] > found[l - 1], `level ${levels[l]}`);
  });

  test("whose errors are all zero is a point forecast", () => {
    const sure = modelOf([memberOf(linear, { residuals: new Float32Array(10) })]);
    const { standardDeviation, quantiles } = forecast(sure, {}, still);
    assert.deepEqual([...standardDeviation], [0, 0]);
    assertClose(quantiles[2], [10, 10]);
  });
});

describe("an ensemble", () => {
  const linear = specOf("FN2", 3, { cell, inputLength: 2 });
  const zero = new Float32Array(9);
  const two = modelOf([memberOf(spec, { share: 0.75 }), memberOf(linear, { share: 0.25, residuals: zero })]);
  /** The Gaussian member forecasts 0 ± 1, the linear member 3. */
  const executor: NetExecutor = {
    ...still,
    sample: (tasks) =>
      tasks.flatMap((task) => executorOf(() => (task.noise === null ? 3 : 0), 1).sample([task])),
  };

  test("is one mixture of its members in proportion to their shares", () => {
    const { mean, standardDeviation, quantiles } = forecast(two, { paths: 100, levels: [0.5] }, executor);
    const share = (mean[0] - 10) / 15;
    assert.ok(Math.abs(share - 0.25) < 1e-9, `${share}`);
    const variance = 25 * (1 - share) + share * (1 - share) * 225;
    assertClose([standardDeviation[0] ** 2], [variance], 1e-3);
    const below = (1 - share) * normalCdf((quantiles[0][0] - 10) / 5);
    assert.ok(Math.abs(below - 0.5) < 1e-6);
  });

  test("divides its paths among its members in whole blocks, at least one to each", () => {
    const counts: number[] = [];
    const counting: NetExecutor = {
      ...still,
      sample: (tasks) => {
        for (const { noise } of tasks) counts.push(noise?.paths ?? 0);
        return still.sample(tasks);
      },
    };
    for (const [paths, shares, expected] of [
      [32, [0.5, 0.3, 0.15, 0.05], [16, 8, 8, 8]],
      [100, [0.334, 0.333, 0.333], [32, 32, 32]],
      [4, [0.97, 0.01, 0.01, 0.01], [4, 4, 4, 4]],
      [1, [0.5, 0.5], [1, 1]],
      [100, [1], [100]],
    ] as const) {
      counts.length = 0;
      forecast(modelOf(shares.map((share) => memberOf(spec, { share }))), { paths }, counting);
      assert.deepEqual(counts, expected);
    }
  });

  test("gives its members different noise", () => {
    const seen: (string | undefined)[] = [];
    const spying: NetExecutor = {
      ...still,
      sample: (tasks) => {
        for (const { noise } of tasks) seen.push(noise?.values.join());
        return still.sample(tasks);
      },
    };
    forecast(modelOf([memberOf(spec, { share: 0.5 }), memberOf(spec, { share: 0.5 })]), {}, spying);
    assert.equal(new Set(seen).size, 2);
  });
});

describe("a model or window that does not fit", () => {
  const model = modelOf([memberOf(spec)]);
  const nan = Float64Array.of(1, Number.NaN, 2, 3);

  test("fails its own task and no other", () => {
    const tasks = [
      { model, window },
      { model, window: nan },
      { model, window },
    ];
    const [first, second, third] = forecastModels(createReferenceExecutor(), tasks, options);
    assert.ok(isDistribution(first));
    assert.deepEqual(first, third);
    assert.ok(second instanceof ForecastnetError);
    assert.equal(second.code, "WINDOW_UNFIT");
    assert.match(second.message, /^model pump@v3: window has NaN at step 1, channel 0/);
  });

  const linear = specOf("FN2", 3, { cell, inputLength: 4 });
  const refusals: readonly (readonly [string, ForecastNetModel, RegExp])[] = [
    [
      "with weights of another net",
      modelOf([memberOf(spec, { weights: new Float32Array(5) })]),
      /weights are 5 numbers/,
    ],
    ["with a linear member without errors", modelOf([memberOf(linear)]), /residuals are missing/],
    [
      "with errors for other steps",
      modelOf([memberOf(linear, { residuals: new Float32Array(4) })]),
      /residuals are 4 numbers; expected a multiple of 3/,
    ],
    [
      "with members of different horizons",
      modelOf([memberOf(spec, { share: 0.5 }), memberOf(specOf("FN", 2, { cell }), { share: 0.5 })]),
      /members differ in horizon/,
    ],
    [
      "with a spread of other steps",
      { ...model, spread: Float32Array.of(1) },
      /spread has 1 numbers; expected 3/,
    ],
  ];
  for (const [what, unfit, expected] of refusals) {
    test(`${what} is refused, and the error names the model`, () => {
      const [answer] = forecastModels(still, [{ model: unfit, window }], options);
      assert.ok(answer instanceof ForecastnetError);
      assert.match(answer.message, expected);
      assert.match(answer.message, /^model pump@v3: /);
    });
  }

  test("never publishes a forecast that is not finite", () => {
    const [answer] = forecastModels(
      executorOf(() => Number.NaN),
      [{ model, window }],
      options,
    );
    assert.ok(answer instanceof ForecastnetError);
    assert.match(answer.message, /model pump@v3: forecast has no finite value at step 1 of target 0/);
  });
});

describe("a batch", () => {
  const model = modelOf([memberOf(spec)]);
  for (const [what, wrong] of [
    ["without paths", { paths: 0 }],
    ["with levels out of order", { levels: [0.5, 0.1] }],
    ["with a level of 1", { levels: [0.5, 1] }],
  ] as const) {
    test(`${what} is refused before anything runs`, () => {
      assert.throws(() => forecastModels(still, [{ model, window }], { ...options, ...wrong }), {
        code: "CONFIG_INVALID",
      });
    });
  }
});
