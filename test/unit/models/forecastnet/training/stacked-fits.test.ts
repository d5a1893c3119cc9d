import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { openInProcessEngine } from "../../../../../src/engine/in-process-engine.ts";
import { createFamilies } from "../../../../../src/models/families.ts";
import type { Engine, FitTask } from "../../../../../src/models/forecastnet/engine.ts";
import { encodeModel } from "../../../../../src/models/forecastnet/model-bytes.ts";
import { sharedPlan } from "../../../../../src/models/forecastnet/shared-plan.ts";
import { runStacked } from "../../../../../src/models/forecastnet/training/stacked-fits.ts";
import { ForecastnetError } from "../../../../../src/runtime/errors.ts";
import { trainTask } from "../../../../../src/training/train-task.ts";
import type { TrainingTask } from "../../../../../src/training/training-task.ts";
import {
  challengersOf,
  historyOf,
  reasonOf,
  taskOf,
  waveOf,
} from "../../../training/support/training-tasks.ts";

let engine: Engine;
before(async () => {
  engine = await openInProcessEngine({ kind: "simd" });
});

const never = new AbortController().signal;

/** An engine that notes the nets of every call, and those that the calls hold of each plan. */
function counting(refuses: (tasks: readonly FitTask[]) => boolean = () => false) {
  const calls: (readonly FitTask[])[] = [];
  const counted: Engine = {
    ...engine,
    fit: async (tasks, signal) => {
      calls.push(tasks);
      if (refuses(tasks)) throw new ForecastnetError("MODEL_UNFIT", "one of them does not fit");
      return engine.fit(tasks, signal);
    },
  };
  return { counted, calls };
}

const runAll = (on: Engine, tasks: readonly TrainingTask[], signal = never) =>
  runStacked(
    on,
    tasks.map((task) => (stacked: Engine) => trainTask(createFamilies(stacked), task, signal)),
    signal,
  );

const taskNamed = (id: string, steps = 240) =>
  taskOf([historyOf(waveOf({ steps, seed: id.length }))], {}, id);

describe("trainings side by side", () => {
  test("fit the nets of one plan in one stack", async () => {
    const { counted, calls } = counting();
    await runAll(counted, [taskNamed("a"), taskNamed("bb")]);
    // Two candidates of both tasks, on the parts before both folds; then the members of the models, on the whole.
    assert.deepEqual(
      calls.slice(0, 2).map((nets) => [nets.length, new Set(nets.map(({ spec }) => sharedPlan(spec))).size]),
      [
        [4, 2],
        [4, 2],
      ],
    );
    assert.ok(calls.length <= 3, `${calls.length} calls`);
  });

  test("give what they give one by one", async () => {
    const tasks = [taskNamed("a"), taskNamed("bb", 200)];
    const together = await runAll(engine, tasks);
    for (const [i, task] of tasks.entries()) {
      const [alone] = challengersOf(await trainTask(createFamilies(engine), task, never));
      assert.deepEqual(encodeModel(challengersOf(together[i])[0].model), encodeModel(alone.model));
    }
  });

  test("wait for none that has ended", async () => {
    const { counted, calls } = counting();
    const results = await runAll(counted, [taskNamed("a", 10), taskNamed("bb"), taskNamed("c", 0)]);
    assert.deepEqual(
      results.map(({ outcome }) => outcome),
      ["failed", "trained", "failed"],
    );
    assert.deepEqual(
      calls.slice(0, 2).map(({ length }) => length),
      [2, 2],
    );
  });

  test("are not spoilt by one whose nets are refused", async () => {
    const other = historyOf(waveOf({ steps: 200 }));
    // The refused ones are known by their rows.
    const { counted } = counting((nets) => nets.some(({ training }) => training.count > 250));
    const [good, bad] = await runAll(counted, [taskOf([other]), taskNamed("long", 400)]);
    assert.equal(good.outcome, "trained");
    assert.equal(reasonOf(bad), "one of them does not fit");
  });

  test("are all cancelled at once", async () => {
    const stop = new AbortController();
    const { counted } = counting(() => {
      stop.abort();
      return false;
    });
    assert.deepEqual(await runAll(counted, [taskNamed("a"), taskNamed("bb")], stop.signal), [
      { outcome: "cancelled" },
      { outcome: "cancelled" },
    ]);
  });

  test("all fail when the engine broke", async () => {
    const broken: Engine = { ...engine, fit: () => Promise.reject(new Error("no memory")) };
    await assert.rejects(runAll(broken, [taskNamed("a"), taskNamed("bb")]), /no memory/);
  });
});
