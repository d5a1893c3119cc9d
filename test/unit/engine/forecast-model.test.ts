import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { NetExecutor } from "../../../src/engine/executor.ts";
import { forecastModels } from "../../../src/engine/forecast-model.ts";
import { createReferenceExecutor } from "../../../src/engine/reference/reference-executor.ts";
import { normalCdf } from "../../../src/models/forecastnet/normal-table.ts";
import { type Framing, specOf } from "../../../src/models/forecastnet/spec.ts";
import {
  assertClose,
  cell,
  executorOf,
  forecast,
  memberOf,
  modelOf,
  options,
  spec,
  still,
  window,
} from "./support/still-net.ts";

describe("a forecast", () => {
  test("comes back in raw units", () => {
    const executor = executorOf(({ step }) => step / 10, 0.2);
    const { mean, standardDeviation, quantiles, paths } = forecast(modelOf([memberOf(spec)]), {}, executor);
    assertClose(mean, [10, 10.5, 11]);
    assertClose(standardDeviation, [1, 1, 1]);
    assertClose(
      quantiles[0],
      [10, 10.5, 11].map((value) => value - 1.2815515655),
    );
    assertClose(quantiles[1], [10, 10.5, 11]);
    assert.equal(paths, null);
  });

  test("undoes the framing of its window", () => {
    const framing: Framing = { level: "last", scale: "deviation", season: 2 };
    const deviation = Math.sqrt((1.75 ** 2 + 0.25 ** 2 + 0.75 ** 2 + 2.25 ** 2) / 4);
    const { mean, standardDeviation } = forecast(
      modelOf([memberOf({ ...spec, framing })]),
      {},
      executorOf(() => 1),
    );
    assertClose(
      mean,
      [11, 14, 11].map((value) => value + deviation),
    );
    assertClose(standardDeviation, [deviation, deviation, deviation]);
  });

  test("of several targets keeps them apart, each with its steps in order", () => {
    const two = specOf("FN", 2, { cell, inputLength: 2, channels: 2, targets: [0, 1] });
    const model = modelOf([memberOf(two)], { scaler: { offset: [0, 100], scale: [1, 10] } });
    const executor = executorOf(({ step, target }) => step + 5 * target);
    assertClose(forecast(model, {}, executor).mean, [0, 1, 150, 160]);
  });

  test("is the same every time, and for every task of a batch alike", () => {
    const executor = createReferenceExecutor();
    const model = modelOf([memberOf(spec)]);
    const other = { model, window: Float64Array.of(1, 2, 3, 4) };
    const [first, , third] = forecastModels(executor, [{ model, window }, other, { model, window }], options);
    assert.deepEqual(first, third);
    assert.deepEqual(forecastModels(executor, [{ model, window }], options), [first]);
  });

  test("of a real net has the moments of its own paths", () => {
    const model = modelOf([memberOf(spec)]);
    const drawn = forecast(model, { paths: 200, keepPaths: true }, createReferenceExecutor());
    assert.ok(drawn.paths !== null);
    for (let h = 0; h < 3; h++) {
      const paths = [...drawn.paths.subarray(h * 200, (h + 1) * 200)];
      const mean = paths.reduce((sum, value) => sum + value, 0) / 200;
      const deviation = Math.sqrt(paths.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 200);
      const below = paths.filter((value) => value < drawn.quantiles[0][h]).length / 200;
      assert.ok(Math.abs(mean - drawn.mean[h]) < 0.05 * drawn.standardDeviation[h], `mean ${h}`);
      assert.ok(Math.abs(deviation / drawn.standardDeviation[h] - 1) < 0.05, `deviation ${h}`);
      assert.ok(Math.abs(below - 0.1) <= 0.03, `share below the tenth: ${below}`);
    }
  });

  test("has the paths that were fed from cell to cell", () => {
    let noise = new Float32Array();
    const executor = executorOf(({ step }) => step, 0.5);
    const spying: NetExecutor = {
      ...executor,
      sample: (tasks) => {
        noise = Float32Array.from(tasks[0].noise?.values ?? []);
        return executor.sample(tasks);
      },
    };
    const { paths } = forecast(modelOf([memberOf(spec)]), { keepPaths: true }, spying);
    assertClose(
      paths ?? [],
      [...noise].map((z, i) => 10 + 5 * (Math.floor(i / 40) + 0.5 * z)),
      1e-5,
    );
  });

  test("is widened around its mean by the model's spread", () => {
    const model = modelOf([memberOf(spec)]);
    const [plain, wide] = [null, Float32Array.of(1, 2, 0.5)].map((spread) =>
      forecast(
        { ...model, spread },
        { keepPaths: true },
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
      const row = (paths: Float64Array | null) => [...(paths ?? []).slice(h * 40, (h + 1) * 40)];
      assertClose(row(wide.paths), row(plain.paths).map(around));
    });
  });
});

describe("a linear member", () => {
  const linear = specOf("FN2", 2, { cell, inputLength: 4 });
  const errors = Array.from({ length: 101 }, (_, i) => (i - 50) / 50);
  const residuals = Float32Array.from([...errors, ...errors.map((e) => 3 * e)]);
  const model = modelOf([memberOf(linear, { residuals })]);

  test("is as wide as its held-out errors, step by step", () => {
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

  test("with fewer errors than paths is smooth between them", () => {
    const few = modelOf([memberOf(linear, { residuals: Float32Array.of(-1, 0, 1, -1, 0, 1) })]);
    const levels = Array.from({ length: 19 }, (_, i) => (i + 1) / 20);
    const { quantiles } = forecast(few, { paths: 60, levels }, still);
    const found = quantiles.map((values) => values[0]);
    for (let l = 1; l < found.length; l++) assert.ok(found[l] > found[l - 1], `level ${levels[l]}`);
  });

  test("with errors that are all zero is a point", () => {
    const sure = modelOf([memberOf(linear, { residuals: new Float32Array(10) })]);
    const { standardDeviation, quantiles } = forecast(sure, {}, still);
    assert.deepEqual([...standardDeviation], [0, 0]);
    assertClose(quantiles[2], [10, 10]);
  });

  test("has paths of its point and its errors, each slice of probability once", () => {
    const { paths, mean } = forecast(model, { paths: 50, keepPaths: true }, still);
    const first = [...(paths ?? [])].slice(0, 50);
    assert.equal(new Set(first).size, 50);
    assert.ok(Math.abs(first.reduce((sum, value) => sum + value, 0) / 50 - mean[0]) < 1e-6);
    assert.ok(Math.max(...first) > 14.8 && Math.max(...first) <= 15);
    assert.notDeepEqual(
      [...first].sort((a, b) => a - b),
      first,
    );
  });
});

describe("an ensemble", () => {
  const linear = specOf("FN2", 3, { cell, inputLength: 2 });
  const zero = new Float32Array(9);
  const two = modelOf([memberOf(spec, { share: 0.75 }), memberOf(linear, { share: 0.25, residuals: zero })]);
  /** The Gaussian member says 0 ± 1, the linear one 3. */
  const executor: NetExecutor = {
    ...still,
    sample: (tasks) =>
      tasks.flatMap((task) => executorOf(() => (task.noise === null ? 3 : 0), 1).sample([task])),
  };

  test("is one mixture of its members by their shares", () => {
    const { mean, standardDeviation, quantiles } = forecast(two, { paths: 100, levels: [0.5] }, executor);
    const share = (mean[0] - 10) / 15;
    assert.ok(Math.abs(share - 0.25) < 1e-9, `${share}`);
    const variance = 25 * (1 - share) + share * (1 - share) * 225;
    assertClose([standardDeviation[0] ** 2], [variance], 1e-3);
    const below = (1 - share) * normalCdf((quantiles[0][0] - 10) / 5);
    assert.ok(Math.abs(below - 0.5) < 1e-6);
  });

  test("gives every member a path, and all paths away", () => {
    const counts: number[] = [];
    const counting: NetExecutor = {
      ...still,
      sample: (tasks) => {
        for (const { noise } of tasks) counts.push(noise?.paths ?? 0);
        return still.sample(tasks);
      },
    };
    for (const [paths, shares, expected] of [
      [10, [0.9, 0.06, 0.03, 0.01], [7, 1, 1, 1]],
      [100, [0.334, 0.333, 0.333], [34, 33, 33]],
      [4, [0.97, 0.01, 0.01, 0.01], [1, 1, 1, 1]],
      [7, [0.5, 0.5], [4, 3]],
    ] as const) {
      counts.length = 0;
      forecast(modelOf(shares.map((share) => memberOf(spec, { share }))), { paths }, counting);
      assert.deepEqual(counts, expected);
    }
  });

  test("drives its members by different noise", () => {
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
