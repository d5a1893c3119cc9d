import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Level, Regression, WindowSums } from "../../../../src/models/regression/window-sums.ts";
import { createRandom } from "../../../../src/runtime/random.ts";
import { RidgeSums } from "./ridge-sums.ts";

/** Values that a single-precision number holds exactly, around a level of their own in every channel. */
function historyOf(steps: number, channels: number): Float64Array {
  const random = createRandom(11);
  return Float64Array.from({ length: steps * channels }, (_, i) =>
    Math.fround(3 * (i % channels) + random.normal()),
  );
}

function startsOf(values: Float64Array, channels: number, width: number): number[] {
  return Array.from({ length: values.length / channels }, (_, step) => step * channels)
    .filter((at) => at + width <= values.length)
    .filter((at) => values.subarray(at, at + width).every(Number.isFinite));
}

describe("the sums over all windows", () => {
  for (const channels of [1, 2, 3]) {
    test(`are those of the rows one by one, around gaps, with ${channels} channels`, () => {
      const shape = { channels, length: 4, horizon: 2 };
      const values = historyOf(60, channels);
      values[20 * channels] = Number.NaN;
      values[25 * channels + channels - 1] = Number.NaN;
      const sums = new WindowSums(shape);
      sums.add(values, 0, 60);
      const width = sums.inputs + sums.outputs;
      const starts = startsOf(values, channels, width);
      assert.equal(sums.rows, starts.length);
      for (let j = 0; j < width; j++) {
        const total = starts.reduce((sum, at) => sum + values[at + j], 0);
        assert.ok(Math.abs(sums.total(j) - total) < 1e-9, `the total of ${j}`);
        for (let i = 0; i < sums.inputs; i++) {
          const product = starts.reduce((sum, at) => sum + values[at + i] * values[at + j], 0);
          assert.ok(Math.abs(sums.product(i, j) - product) < 1e-9, `the product of ${i} and ${j}`);
        }
      }
    });
  }

  test("of two parts of a history are those of both", () => {
    const values = historyOf(40, 1);
    const shape = { channels: 1, length: 3, horizon: 1 };
    const [both, apart] = [new WindowSums(shape), new WindowSums(shape)];
    both.add(values, 0, 40);
    // The second part begins with the rows that would reach across the cut.
    apart.add(values, 0, 20);
    apart.add(values, 17, 40);
    assert.equal(apart.rows, both.rows);
    assert.ok(Math.abs(apart.product(0, 3) - both.product(0, 3)) < 1e-9);
  });
});

describe("a regression on windows", () => {
  const levels: readonly Level[] = ["none", "last", "mean"];
  for (const level of levels) {
    for (const channels of [1, 2]) {
      test(`relative to "${level}" is the ridge regression of its rows, with ${channels} channels`, () => {
        const shape = { channels, length: 5, horizon: 3 };
        const values = historyOf(80, channels);
        const sums = new WindowSums(shape);
        sums.add(values, 0, 80);
        const { weights, constant } = new Regression(sums, level, true).solve(0.1);
        const rows = startsOf(values, channels, sums.inputs + sums.outputs).map((at) =>
          framed(values.subarray(at, at + sums.inputs + sums.outputs), level, shape),
        );
        const ridge = new RidgeSums(sums.inputs, sums.outputs);
        for (const { inputs, outputs } of rows) ridge.add(inputs, outputs, 0, 1);
        const map = ridge.solve(0.1);
        const expectedConstant = ridge.constantOf(map);
        const window = historyOf(85, channels).subarray(80 * channels);
        const { inputs, levelOf } = framed(window, level, { ...shape, horizon: 0 });
        for (let o = 0; o < sums.outputs; o++) {
          let forecast = constant[o];
          let expected = expectedConstant[o] + levelOf[o % channels];
          for (let i = 0; i < sums.inputs; i++) {
            forecast += weights[o * sums.inputs + i] * window[i];
            expected += map[i * sums.outputs + o] * inputs[i];
          }
          assert.ok(Math.abs(forecast - expected) < 1e-5, `output ${o} is ${forecast}, not ${expected}`);
        }
      });
    }
  }

  test("on phases gives weight to the last season and to the phase of the step in older ones only", () => {
    const values = historyOf(200, 1);
    const sums = new WindowSums({ channels: 1, length: 12, horizon: 3 });
    sums.add(values, 0, 200);
    const { weights } = new Regression(sums, "none", true).solvePhases(0.01, 4);
    const seenBy = (o: number) =>
      [...weights.subarray(o * 12, (o + 1) * 12).keys()].filter((i) => weights[o * 12 + i] !== 0);
    // Step 1 ahead has the phase of steps 1 and 5 of the window, each with a neighbour on both sides.
    assert.deepEqual(seenBy(1), [0, 1, 2, 4, 5, 6, 8, 9, 10, 11]);
    assert.deepEqual(seenBy(0), [0, 1, 3, 4, 5, 7, 8, 9, 10, 11]);
  });

  test("on phases that are the whole window is the regression on the window", () => {
    const values = historyOf(80, 1);
    const sums = new WindowSums({ channels: 1, length: 6, horizon: 2 });
    sums.add(values, 0, 80);
    const regression = new Regression(sums, "last", true);
    const [whole, phases] = [regression.solve(0.1), regression.solvePhases(0.1, 3)];
    for (const [i, weight] of whole.weights.entries())
      assert.ok(Math.abs(weight - phases.weights[i]) < 1e-9, `weight ${i}`);
  });

  test("without a constant moves with the level of the window, and grows with its scale", () => {
    const values = historyOf(80, 1);
    const sums = new WindowSums({ channels: 1, length: 5, horizon: 3 });
    sums.add(values, 0, 80);
    const { weights, constant } = new Regression(sums, "last", false).solve(0.1);
    assert.deepEqual([...constant], [0, 0, 0]);
    for (let o = 0; o < 3; o++) {
      const sum = weights.subarray(o * 5, (o + 1) * 5).reduce((total, weight) => total + weight, 0);
      assert.ok(Math.abs(sum - 1) < 1e-12, `the weights of output ${o} add up to ${sum}`);
    }
  });
});

function framed(
  row: Float64Array,
  level: Level,
  { channels, length }: { readonly channels: number; readonly length: number; readonly horizon: number },
) {
  const size = length * channels;
  const levelOf = Array.from({ length: channels }, (_, c) => {
    if (level === "none") return 0;
    if (level === "last") return row[size - channels + c];
    return (
      row.subarray(0, size).reduce((sum, value, i) => sum + (i % channels === c ? value : 0), 0) / length
    );
  });
  const relative = Float32Array.from(row, (value, i) => value - levelOf[i % channels]);
  return { inputs: relative.subarray(0, size), outputs: relative.subarray(size), levelOf };
}
