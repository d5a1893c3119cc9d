// Compares training sessions of an executor with the reference: losses, final weights, both validation criteria, nets
// that skip steps, and nets that are reset.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { AdamOptions, NetExecutor, SessionTask, TrainingSession } from "../../../src/engine/executor.ts";
import { createReferenceExecutor } from "../../../src/engine/reference/reference-executor.ts";
import { shortcutsOf } from "../../../src/models/forecastnet/plan.ts";
import { sharedPlan } from "../../../src/models/forecastnet/shared-plan.ts";
import { type ForecastNetSpec, specOf } from "../../../src/models/forecastnet/spec.ts";
import { assertWithin, type Difference, inWords, trainedLossDifference } from "./difference.ts";
import type { MakeExecutor } from "./forms-suite.ts";
import { netCases } from "./net-cases.ts";
import { seededNet, seededRows } from "./seeded-net.ts";

const adam: AdamOptions = { learningRate: 1e-3, weightDecay: 0.1, shortcutRate: 1 };
const batches = [[0, 1, 2, 3, 4], [9, 8, 7, 6, 5], [11, 3, 10, 0, 2, 2, 7], [1]].map((rows) =>
  Int32Array.from(rows),
);

export function trainingSuite(engine: string, makeExecutor: MakeExecutor, tolerance: number): void {
  describe(`${engine} trains as the reference does`, () => {
    let executor: NetExecutor;
    const oracle = createReferenceExecutor();
    before(async () => {
      executor = await makeExecutor();
    });
    after(() => executor.close());

    for (const { name, spec } of netCases.filter(({ spec }) => spec.horizon <= 6)) {
      test(`${name}: losses, weights and validation over a few steps`, (t) => {
        const found = inBoth(executor, oracle, [sessionTask(spec, 1)], spec, (actual, expected) => [
          ...batches.map((rows) =>
            trainedLossDifference(spec, "loss", actual.step([rows], [adam]), expected.step([rows], [adam])),
          ),
          ...validationDifferences(spec, actual, expected),
          changeDifference(spec, 1, actual.weights(0), expected.weights(0)),
        ]);
        t.diagnostic(inWords(assertWithin(tolerance, found)));
      });
    }

    for (const { name, spec } of shortcutCases) {
      test(`${name}: shortcuts have their own learning rate and do not decay, unlike other weights`, (t) => {
        t.diagnostic(inWords(assertWithin(tolerance, ownRateDifferences(executor, oracle, spec))));
      });
    }

    const spec = specOf("FN", 4);
    const three = [1, 2, 3].map((seed) => sessionTask(spec, seed));

    test("several nets train together, each from its own rows at its own rate, and one skips a step", (t) => {
      const rates = [1e-3, 1e-4, 1e-2].map((learningRate) => ({
        learningRate,
        weightDecay: 0,
        shortcutRate: 1,
      }));
      const found = inBoth(executor, oracle, three, spec, (actual, expected) => {
        const rows = [batches[0], null, batches[2]];
        const [losses, expectedLosses] = [actual.step(rows, rates), expected.step(rows, rates)];
        assert.deepEqual(
          actual.weights(1),
          three[1].weights,
          "the net that skipped the step has not changed",
        );
        const more = [batches[3], batches[1], null];
        const [next, expectedNext] = [actual.step(more, rates), expected.step(more, rates)];
        return [
          trainedLossDifference(
            spec,
            "loss",
            [losses[0], losses[2], next[0], next[1]],
            [expectedLosses[0], expectedLosses[2], expectedNext[0], expectedNext[1]],
          ),
          ...validationDifferences(spec, actual, expected),
          ...[0, 1, 2].map((net) =>
            changeDifference(spec, net + 1, actual.weights(net), expected.weights(net)),
          ),
        ];
      });
      t.diagnostic(inWords(assertWithin(tolerance, found)));
    });

    test("a session after another has no moments: the same steps lead to the same weights", () => {
      const walk = () => {
        const session = executor.train(sharedPlan(spec), three);
        assert.deepEqual(session.weights(1), three[1].weights);
        for (const rows of batches) session.step([null, rows, null], [adam, adam, adam]);
        const reached = session.weights(1);
        session.close();
        return reached;
      };
      const first = walk();
      assert.notDeepEqual(first, three[1].weights);
      assert.deepEqual(walk(), first);
    });

    test("weights are returned as a copy", () => {
      const session = executor.train(sharedPlan(spec), three);
      session.weights(0).fill(7);
      assert.deepEqual(session.weights(0), three[0].weights);
      session.close();
    });
  });
}

const shortcutCases = netCases.filter(({ spec }) => spec.shortcut === "linear" && spec.horizon <= 6);

/** Three nets whose shortcuts learn at the full rate, at a tenth of it, and not at all. */
function ownRateDifferences(
  executor: NetExecutor,
  oracle: NetExecutor,
  spec: ForecastNetSpec,
): readonly Difference[] {
  const rates = [1, 0.1, 0];
  const options = rates.map((shortcutRate) => ({ learningRate: 1e-2, weightDecay: 0.3, shortcutRate }));
  const tasks = rates.map((_, net) => sessionTask(spec, net + 1));
  const shortcuts = indicesOfShortcuts(spec);
  return inBoth(executor, oracle, tasks, spec, (actual, expected) => [
    ...batches.map((rows) => {
      const same = rates.map(() => rows);
      return trainedLossDifference(spec, "loss", actual.step(same, options), expected.step(same, options));
    }),
    ...rates.flatMap((rate, net) => {
      const [weights, expectedWeights] = [actual.weights(net), expected.weights(net)];
      const difference = (indices?: readonly number[]) =>
        changeDifference(spec, net + 1, weights, expectedWeights, indices);
      if (rate > 0) return [difference(), difference(shortcuts)];
      const valuesOf = (from: Float32Array) => shortcuts.map((index) => from[index]);
      assert.deepEqual(
        valuesOf(weights),
        valuesOf(tasks[net].weights),
        "shortcuts with a rate of 0 do not change",
      );
      return [difference()];
    }),
  ]);
}

function indicesOfShortcuts(spec: ForecastNetSpec): readonly number[] {
  return shortcutsOf(sharedPlan(spec)).flatMap(({ from, to }) =>
    Array.from({ length: to - from }, (_, i) => from + i),
  );
}

function sessionTask(spec: ForecastNetSpec, seed: number): SessionTask {
  const { plan, weights } = seededNet(spec, seed);
  return { weights, training: seededRows(plan, 12, seed + 50), validation: seededRows(plan, 21, seed + 60) };
}

function inBoth(
  executor: NetExecutor,
  oracle: NetExecutor,
  tasks: readonly SessionTask[],
  spec: ForecastNetSpec,
  compare: (actual: TrainingSession, expected: TrainingSession) => readonly Difference[],
): readonly Difference[] {
  const plan = sharedPlan(spec);
  const sessions = [executor.train(plan, tasks), oracle.train(plan, tasks)] as const;
  const found = compare(...sessions);
  for (const session of sessions) session.close();
  return found;
}

function validationDifferences(
  spec: ForecastNetSpec,
  actual: TrainingSession,
  expected: TrainingSession,
): Difference[] {
  return (["forced", "free"] as const).map((criterion) =>
    trainedLossDifference(
      spec,
      `${criterion} validation`,
      actual.validate(criterion),
      expected.validate(criterion),
    ),
  );
}

/**
 * The difference between the changes of the weights, as root mean squares. Not weight by weight: Adam takes a full step
 * for a gradient of any size, so the last digits of a gradient near zero decide the direction of its weight. Weights
 * are rounded to 6e-8 of themselves, up to 1e-4 of a change of 1e-3, so the difference counts a tenth.
 */
function changeDifference(
  spec: ForecastNetSpec,
  seed: number,
  actual: Float32Array,
  expected: Float32Array,
  indices: Iterable<number> = expected.keys(),
): Difference {
  const { weights: start } = seededNet(spec, seed);
  let apart = 0;
  let change = 0;
  for (const i of indices) {
    apart += (actual[i] - expected[i]) ** 2;
    change += (expected[i] - start[i]) ** 2;
  }
  return { size: 0.1 * Math.sqrt(apart / change), where: "change of the weights" };
}
