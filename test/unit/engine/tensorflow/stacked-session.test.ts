// Many nets in one training session: each trains as it would alone.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionTask, TrainingSession } from "../../../../src/engine/executor.ts";
import { planNet } from "../../../../src/models/forecastnet/plan.ts";
import { specOf } from "../../../../src/models/forecastnet/spec.ts";
import { referenceExecutor } from "../../../rig/differentiating-executors.ts";
import {
  assertClose,
  countTensors,
  onBackends,
  randomRows,
  randomWeights,
  withExecutor,
} from "./on-backends.ts";

const plan = planNet(
  specOf("FN", 3, { cell: { kind: "dense", units: [6], activation: "relu" }, shortcut: "linear" }),
);
const reference = referenceExecutor();
const adam = { learningRate: 1e-2, weightDecay: 0.01, shortcutRate: 1 };
const rows = Int32Array.of(0, 2, 4, 5);

function taskOf(seed: number): SessionTask {
  return {
    weights: randomWeights(plan, seed),
    training: randomRows(plan, 6, seed + 1),
    validation: randomRows(plan, 4, seed + 2),
  };
}

const tasks = [100, 200, 300, 400].map(taskOf);

/** One step of the given nets; the others skip it. */
function stepOf(session: TrainingSession, nets: readonly number[]): Float64Array {
  return session.step(
    tasks.map((_, net) => (nets.includes(net) ? rows : null)),
    tasks.map(() => adam),
  );
}

onBackends((loaded) => {
  test("nets that skip steps end with the weights each would have alone, in stacks of any size", () => {
    const turns = [[0, 1, 2, 3], [0, 2], [2], [1, 3], [0, 1, 2, 3], [3, 0]];
    for (const training of [1, 60_000, 2 ** 29]) {
      withExecutor(
        loaded(),
        (executor) => {
          const together = executor.train(plan, tasks);
          for (const turn of turns) stepOf(together, turn);
          const validated = together.validate("free");
          for (const [net, task] of tasks.entries()) {
            const alone = executor.train(plan, [task]);
            for (const turn of turns) if (turn.includes(net)) alone.step([rows], [adam]);
            assertClose(together.weights(net), alone.weights(0), `weights of net ${net}`);
            assertClose([validated[net]], alone.validate("free"), `validation of net ${net}`);
          }
        },
        { limits: { forecast: 1, training } },
      );
    }
  });

  test("a net that skips a step keeps its weights bit by bit and has no loss", () => {
    withExecutor(loaded(), (executor) => {
      const session = executor.train(plan, tasks);
      stepOf(session, [0, 1, 2, 3]);
      const before = session.weights(1);
      const losses = stepOf(session, [0, 2, 3]);
      assert.deepEqual(session.weights(1), before);
      assert.ok(Number.isNaN(losses[1]));
      assert.ok([0, 2, 3].every((net) => Number.isFinite(losses[net])));
    });
  });

  test("a session copies the weights it is given, and returns copies", () => {
    withExecutor(loaded(), (executor) => {
      const weights = tasks[0].weights.slice();
      const session = executor.train(plan, [{ ...tasks[0], weights }]);
      weights.fill(7);
      session.weights(0).fill(8);
      assert.deepEqual(session.weights(0), tasks[0].weights);
      session.step([rows], [adam]);
      const after = session.weights(0);
      after.fill(9);
      assert.notDeepEqual(session.weights(0), after);
    });
  });

  test("a net of NaN does not affect other nets of its stack", () => {
    withExecutor(loaded(), (executor) => {
      const broken = tasks.with(1, { ...tasks[1], weights: tasks[1].weights.map(() => Number.NaN) });
      const session = executor.train(plan, broken);
      const sound = executor.train(plan, tasks);
      const losses = stepOf(session, [0, 1, 2, 3]);
      stepOf(sound, [0, 1, 2, 3]);
      assert.ok(Number.isNaN(losses[1]));
      for (const net of [0, 2, 3]) assertClose(session.weights(net), sound.weights(net), `net ${net}`);
    });
  });

  test("nets that differ only by their loss are each trained by their own loss", () => {
    withExecutor(loaded(), (executor) => {
      const [likelihood, crps] = (["likelihood", "crps"] as const).map((loss) =>
        planNet({ ...plan.spec, loss }),
      );
      const sessions = [likelihood, crps].map((each) => executor.train(each, tasks.slice(0, 1)));
      for (const [i, each] of [likelihood, crps].entries()) {
        const net = { plan: each, weights: tasks[0].weights };
        const { loss } = reference.differentiate(net, tasks[0].validation);
        assertClose(sessions[i].validate("forced"), [loss], `loss ${each.spec.loss}`);
        assertClose(
          [executor.differentiate(net, tasks[0].validation).loss],
          [loss],
          "the loss of differentiate",
        );
      }
    });
  });

  test("the CRPS of a deviation that rounds to zero is |y − μ|, with a finite gradient", () => {
    withExecutor(loaded(), (executor) => {
      const sharp = planNet({ ...plan.spec, loss: "crps" });
      const weights = tasks[0].weights.slice();
      for (const { deviation } of sharp.cells) {
        if (deviation !== null)
          weights.fill(-200, deviation.biasesAt, deviation.biasesAt + deviation.outputs);
      }
      const actual = executor.differentiate({ plan: sharp, weights }, tasks[0].training);
      const expected = reference.differentiate({ plan: sharp, weights }, tasks[0].training);
      assert.ok(actual.deviation?.every((value) => value === 0));
      assertClose([actual.loss], [expected.loss], "loss");
      assertClose(actual.gradient, expected.gradient, "gradient");
    });
  });

  test("validation sets of unequal length count each row once, and an empty set has no loss", () => {
    withExecutor(
      loaded(),
      (executor) => {
        const counts = [700, 3, 0];
        const unequal = counts.map((count, net) => ({
          ...tasks[net],
          validation: randomRows(plan, count, 5),
        }));
        const losses = executor.train(plan, unequal).validate("forced");
        for (const net of [0, 1]) {
          const { loss } = executor.differentiate(
            { plan, weights: tasks[net].weights },
            unequal[net].validation,
          );
          assertClose([losses[net]], [loss], `loss of net ${net}`);
        }
        assert.ok(Number.isNaN(losses[2]));
      },
      { limits: { forecast: 1, training: 60_000 } },
    );
  });

  test("steps, skipped steps and validation leave no tensors but weights and moments", () => {
    withExecutor(loaded(), (executor) => {
      const before = countTensors(loaded());
      const session = executor.train(plan, tasks);
      stepOf(session, [0, 1, 2, 3]);
      const open = countTensors(loaded());
      for (const turn of [[0, 1], [2], [1, 2, 3]]) stepOf(session, turn);
      session.validate("forced");
      session.weights(1);
      stepOf(session, [0, 1, 2, 3]);
      assert.equal(countTensors(loaded()), open);
      session.close();
      assert.equal(countTensors(loaded()), before);
    });
  });

  test("closing the executor closes its sessions, which then refuse work", () => {
    withExecutor(loaded(), (executor) => {
      const session = executor.train(plan, tasks);
      stepOf(session, [0, 1, 2, 3]);
      executor.close();
      assert.throws(() => stepOf(session, [0]), { code: "ENGINE_FAILED", message: /session is closed/ });
      session.close();
    });
  });
});
