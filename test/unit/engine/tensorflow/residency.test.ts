// Nets on the device: which stay, which are evicted first, and that replacing one does not affect the others.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { PathOutputs } from "../../../../src/engine/executor.ts";
import { planNet } from "../../../../src/models/forecastnet/plan.ts";
import { specOf } from "../../../../src/models/forecastnet/spec.ts";
import { assertClose, countTensors, onBackends, sampleTask, withExecutor } from "./on-backends.ts";

const plan = planNet(specOf("FN", 3));
const convPlan = planNet(specOf("cFN2", 3));
const bytesOfNet = plan.weightCount * 4;
const seeds = [10, 20, 30, 40, 50];

function assertSame(actual: readonly PathOutputs[], expected: readonly PathOutputs[]): void {
  assert.equal(actual.length, expected.length);
  for (const [i, { mean, deviation }] of expected.entries()) {
    assertClose(actual[i].mean, mean, `mean of task ${i}`);
    assertClose(actual[i].deviation, deviation, `deviation of task ${i}`);
  }
}

onBackends((loaded) => {
  test("a second forecast with the same nets leaves no additional tensors", () => {
    withExecutor(loaded(), (executor) => {
      const tasks = seeds.map((seed) => sampleTask(plan, seed));
      executor.sample(tasks);
      const tensors = countTensors(loaded());
      executor.sample(tasks);
      executor.sample(tasks.slice(1, 3));
      assert.equal(countTensors(loaded()), tensors);
      assert.deepEqual(executor.resident(), { models: 5, bytes: 5 * bytesOfNet });
    });
  });

  test("differentiate leaves no tensors", () => {
    withExecutor(loaded(), (executor) => {
      const tensors = countTensors(loaded());
      const { net, window } = sampleTask(plan, 1);
      executor.differentiate(net, { count: 1, windows: window, targets: Float32Array.of(1, 2, 3) });
      assert.equal(countTensors(loaded()), tensors);
    });
  });

  test("stacked nets forecast as each does alone, in the order of the tasks", () => {
    withExecutor(loaded(), (executor) => {
      // Two shapes, two numbers of paths, one net twice, in mixed order.
      const tasks = [
        ...seeds.map((seed) => sampleTask(plan, seed)),
        sampleTask(convPlan, 60),
        sampleTask(plan, 70, { paths: 2 }),
        sampleTask(convPlan, 80),
      ];
      const mixed = [tasks[5], tasks[0], tasks[6], tasks[1], tasks[7], tasks[0], ...tasks.slice(2, 5)];
      const alone = mixed.flatMap((task) => executor.sample([task]));
      assertSame(executor.sample(mixed), alone);
    });
  });

  test("nets of equal plans run in one stack", () => {
    withExecutor(loaded(), (executor) => {
      const again = planNet(specOf("FN", 3));
      const first = sampleTask(plan, 10);
      const second = sampleTask(again, 20);
      const single = [first, second].flatMap((task) => executor.sample([task]));
      assertSame(executor.sample([first, second]), single);
      // The same weights under an equal plan are not uploaded twice.
      executor.sample([{ ...first, net: { plan: again, weights: first.net.weights } }]);
      assert.equal(executor.resident().models, 2);
    });
  });

  test("tasks that share a table of noise forecast as with separate tables", () => {
    withExecutor(loaded(), (executor) => {
      const { noise } = sampleTask(plan, 10);
      assert.ok(noise !== null);
      const shared = seeds.map((seed) => ({ ...sampleTask(plan, seed), noise }));
      const own = shared.map((task) => ({ ...task, noise: { ...noise, values: noise.values.slice() } }));
      assertSame(executor.sample(shared), executor.sample(own));
    });
  });

  test("replacing one net leaves the results of the others unchanged", () => {
    withExecutor(loaded(), (executor) => {
      const tasks = seeds.map((seed) => sampleTask(plan, seed));
      const before = executor.sample(tasks);
      const promoted = { ...tasks[2], net: sampleTask(plan, 99).net };
      executor.release(tasks[2].net.weights);
      const after = executor.sample(tasks.with(2, promoted));
      assert.deepEqual(after.toSpliced(2, 1), before.toSpliced(2, 1));
      assert.notDeepEqual(after[2], before[2]);
      assert.equal(executor.resident().models, 5);
    });
  });

  test("the least recently used net is evicted first, and uploaded again when it is requested", () => {
    withExecutor(
      loaded(),
      (executor) => {
        const [a, b, c, d] = seeds.map((seed) => sampleTask(plan, seed));
        const first = executor.sample([a, b, c]);
        executor.sample([a]);
        executor.sample([d]);
        assert.deepEqual(executor.resident(), { models: 3, bytes: 3 * bytesOfNet });
        // Only b was evicted: releasing it changes nothing, releasing the others does.
        executor.release(b.net.weights);
        assert.equal(executor.resident().models, 3);
        assert.deepEqual(executor.sample([b]), [first[1]]);
        for (const { net } of [a, b, d]) executor.release(net.weights);
        assert.deepEqual(executor.resident(), { models: 0, bytes: 0 });
      },
      { budgetBytes: 3.5 * bytesOfNet },
    );
  });

  test("a batch larger than the budget is forecast in parts", () => {
    const tasks = seeds.map((seed) => sampleTask(plan, seed));
    let expected: readonly PathOutputs[] = [];
    withExecutor(loaded(), (executor) => {
      expected = executor.sample(tasks);
    });
    for (const budgetBytes of [2 * bytesOfNet, 0]) {
      withExecutor(
        loaded(),
        (executor) => {
          assertSame(executor.sample(tasks), expected);
          const limit = Math.max(bytesOfNet, budgetBytes);
          assert.ok(executor.resident().bytes <= limit, `${executor.resident().bytes} bytes of ${limit}`);
        },
        { budgetBytes },
      );
    }
  });

  test("a batch larger than the limit of a stack is forecast in several stacks", () => {
    withExecutor(
      loaded(),
      (executor) => {
        const tasks = seeds.map((seed) => sampleTask(plan, seed));
        assertSame(
          executor.sample(tasks),
          tasks.flatMap((task) => executor.sample([task])),
        );
      },
      { limits: { forecast: 5 * bytesOfNet, training: 1 } },
    );
  });

  test("a task gives the same bytes in any batch", () => {
    for (const { net, paths } of [
      { net: plan, paths: 5 },
      { net: plan, paths: 36 },
      { net: planNet(specOf("cFN", 2)), paths: 6 },
      { net: convPlan, paths: 1 },
    ]) {
      withExecutor(loaded(), (executor) => {
        const tasks = [...seeds, 60, 70].map((seed) => sampleTask(net, seed, { paths }));
        const all = executor.sample(tasks);
        for (const [from, to] of [
          [0, 1],
          [1, 4],
          [5, 7],
          [0, 7],
        ]) {
          assert.deepEqual(executor.sample(tasks.slice(from, to)), all.slice(from, to), `${from} to ${to}`);
        }
        assert.deepEqual(executor.sample(tasks.toReversed()), all.toReversed());
      });
    }
  });
});
