// Compares an executor with the reference on the same weights and inputs: outputs, loss and every derivative of a
// teacher-forced pass, and the free-running paths.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { PathOutputs, SampleTask } from "../../../src/engine/executor.ts";
import { differentiateNet, samplePaths } from "../../../src/engine/reference/reference-executor.ts";
import { type ForecastNetSpec, specOf } from "../../../src/models/forecastnet/spec.ts";
import type { DifferentiatingExecutor } from "../../rig/differentiating-executors.ts";
import {
  assertWithin,
  type Difference,
  differenceOf,
  gradientDifference,
  inWords,
  trainedLossDifference,
} from "./difference.ts";
import { netCases } from "./net-cases.ts";
import { seededNet, seededNoise, seededRows } from "./seeded-net.ts";

export type MakeExecutor = () => DifferentiatingExecutor | Promise<DifferentiatingExecutor>;

interface FormsOptions {
  /** Largest relative difference from the reference. */
  readonly tolerance: number;
  /** Rows and paths of small nets. */
  readonly small?: readonly number[];
  /** Rows and paths of nets of the paper's size, on which the reference is slow. */
  readonly paper?: readonly number[];
  /** Largest relative change of a forecast that depends on what else is in its batch. */
  readonly batchTolerance?: number;
}

export function formsSuite(engine: string, makeExecutor: MakeExecutor, options: FormsOptions): void {
  // One, a few, and more than a kernel takes at once, with a remainder.
  const { tolerance, small = [1, 6, 37], paper = [19], batchTolerance = 0 } = options;
  const countsFor = ({ horizon }: ForecastNetSpec) => (horizon < 20 ? small : paper);
  describe(`${engine} equals the reference`, () => {
    let executor: DifferentiatingExecutor;
    before(async () => {
      executor = await makeExecutor();
    });
    after(() => executor.close());
    for (const { name, spec } of netCases) {
      test(`${name}: outputs, loss and every derivative`, (t) => {
        const found = countsFor(spec).flatMap((count) => derivativeDifferences(executor, spec, count));
        t.diagnostic(inWords(assertWithin(tolerance, found)));
      });
      test(`${name}: the free-running paths`, (t) => {
        const tasks = countsFor(spec).map((paths) => sampleTask(spec, paths));
        const found = tasks.flatMap((task) => pathDifferences(task, executor.sample([task])[0]));
        t.diagnostic(inWords(assertWithin(tolerance, found)));
      });
    }
    test("a hundred paths of FN of the paper's size", (t) => {
      const task = sampleTask(specOf("FN", 20), 100);
      t.diagnostic(inWords(assertWithin(tolerance, pathDifferences(task, executor.sample([task])[0]))));
    });
    test("results of nets of many shapes in one batch are in order", (t) => {
      const [small, conv, point] = [specOf("FN", 3), specOf("cFN", 4), specOf("FN2", 5)];
      const specs = [small, conv, small, point, conv, small, point, small];
      const tasks = specs.map((spec, i) => sampleTask(spec, 4 + (i % 3), 100 + i));
      const outputs = executor.sample(tasks);
      assert.equal(outputs.length, tasks.length);
      const found = tasks.flatMap((task, i) => pathDifferences(task, outputs[i]));
      t.diagnostic(inWords(assertWithin(tolerance, found)));
    });
    test("an empty batch has no results", () => {
      assert.deepEqual(executor.sample([]), []);
    });
    test("the same batch gives the same bytes", () => {
      const tasks = [specOf("FN", 4), specOf("cFN", 4), specOf("FN2", 4)].map((spec) => sampleTask(spec, 20));
      assert.deepEqual(executor.sample(tasks), executor.sample(tasks));
    });
    test(`the rest of a batch changes a forecast by ${batchTolerance} at most`, () => {
      const task = sampleTask(specOf("FN", 4), 20);
      const others = [sampleTask(specOf("FN", 4), 20, 9), sampleTask(specOf("cFN", 4), 3)];
      const [alone] = executor.sample([task]);
      const [, among] = executor.sample([others[0], task, others[1]]);
      assertWithin(batchTolerance, [
        differenceOf("mean", among.mean, alone.mean),
        differenceOf("deviation", among.deviation ?? [], alone.deviation ?? []),
      ]);
    });
  });
}

function derivativeDifferences(
  executor: DifferentiatingExecutor,
  spec: ForecastNetSpec,
  count: number,
): Difference[] {
  const net = seededNet(spec, 1);
  const rows = seededRows(net.plan, count, 2);
  const expected = differentiateNet(net.plan, net.weights, rows);
  const { mean, deviation, loss, gradient } = executor.differentiate(net, rows);
  assert.equal(deviation === null, expected.deviation === null, "only a Gaussian output has a deviation");
  return [
    differenceOf("mean", mean, expected.mean),
    differenceOf("deviation", deviation ?? [], expected.deviation ?? []),
    trainedLossDifference(spec, "loss", [loss], [expected.loss]),
    gradientDifference(net.plan, gradient, expected.gradient),
  ];
}

function sampleTask(spec: ForecastNetSpec, paths: number, seed = 1): SampleTask {
  const net = seededNet(spec, seed);
  const { windows } = seededRows(net.plan, 1, seed + 1);
  return { net, window: windows, noise: seededNoise(net.plan, paths, seed + 2) };
}

function pathDifferences({ net, window, noise }: SampleTask, actual: PathOutputs): Difference[] {
  const expected = samplePaths(net.plan, net.weights, window, noise);
  assert.equal(
    actual.deviation === null,
    expected.deviation === null,
    "only a Gaussian output has a deviation",
  );
  return [
    differenceOf("mean of the paths", actual.mean, expected.mean),
    differenceOf("deviation of the paths", actual.deviation ?? [], expected.deviation ?? []),
  ];
}
