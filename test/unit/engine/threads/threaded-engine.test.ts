// Forecasts of an engine on real threads with the reference executor: they equal those of the shared code without
// threads in any order of work, and a failure affects only what depends on it.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { forecastModels } from "../../../../src/engine/forecast-model.ts";
import { createReferenceExecutor } from "../../../../src/engine/reference/reference-executor.ts";
import { openThreadedEngine } from "../../../../src/engine/threads/threaded-engine.ts";
import type { Engine, EngineAnswer, EngineTask } from "../../../../src/models/forecastnet/engine.ts";
import type { ForecastNetSpec } from "../../../../src/models/forecastnet/spec.ts";
import { ForecastnetError } from "../../../../src/runtime/errors.ts";
import { randomModel, waveOf } from "../../../rig/random-model.ts";

const options = { paths: 8, levels: [0.1, 0.5, 0.9] };

async function openFor(t: TestContext, threads = 2): Promise<Engine> {
  const engine = await openThreadedEngine({ setup: { kind: "reference" }, threads });
  t.after(() => engine.close());
  return engine;
}

const tasksOf = (count: number): EngineTask[] =>
  Array.from({ length: count }, (_, i) => {
    const spec = { inputLength: 4 + (i % 3) };
    const model = randomModel({ key: `s${i}`, seed: i, form: i % 2 === 0 ? "FN" : "FN2", spec });
    return { model, window: waveOf(model, i) };
  });

/** Answers that have crossed from a thread are plain arrays. */
const expected = (tasks: readonly EngineTask[]): EngineAnswer[] =>
  forecastModels(createReferenceExecutor(), tasks, options).map((answer) => {
    if (answer instanceof ForecastnetError) return answer;
    const { mean, standardDeviation, quantiles } = answer;
    return {
      mean: [...mean],
      standardDeviation: [...standardDeviation],
      quantiles: quantiles.map((values) => [...values]),
    };
  });

describe("a forecast on threads", () => {
  test("has the same bits as one without threads, in the order of the tasks", async (t) => {
    const engine = await openFor(t);
    const tasks = tasksOf(50);
    assert.deepEqual(await engine.forecast(tasks, options), expected(tasks));
  });

  test("uses the newest steps of a window that is longer than the input", async (t) => {
    const engine = await openFor(t, 1);
    const [{ model, window }] = tasksOf(1);
    const longer = Float64Array.from([999, -999, ...window]);
    assert.deepEqual(
      await engine.forecast([{ model, window: longer }], options),
      expected([{ model, window }]),
    );
  });

  test("leaves the caller's window intact", async (t) => {
    const engine = await openFor(t, 1);
    const tasks = tasksOf(2);
    await engine.forecast(tasks, options);
    assert.deepEqual(await engine.forecast(tasks, options), expected(tasks));
  });

  test("of no tasks has no answers", async (t) => {
    assert.deepEqual(await (await openFor(t, 1)).forecast([], options), []);
  });

  test("runs concurrently with others", async (t) => {
    const engine = await openFor(t);
    const batches = [30, 1, 17].map(tasksOf);
    const answers = await Promise.all(batches.map((tasks) => engine.forecast(tasks, options)));
    assert.deepEqual(
      answers,
      batches.map((tasks) => expected(tasks)),
    );
  });
});

describe("a task that does not fit", () => {
  test("fails with its error, and the tasks around it succeed", async (t) => {
    const engine = await openFor(t);
    const tasks = tasksOf(20);
    const unfit = randomModel({ key: "unfit" });
    const bad = { ...unfit, members: [{ ...unfit.members[0], weights: new Float32Array(3) }] };
    const mixed = [...tasks];
    mixed[4] = { ...tasks[4], window: tasks[4].window.fill(Number.NaN, 0, 1) };
    mixed[13] = { model: bad, window: waveOf(unfit) };
    const answers = await engine.forecast(mixed, options);
    const failures = answers.flatMap((answer, i) =>
      answer instanceof ForecastnetError ? [[i, answer.code, answer.message.slice(0, 11)]] : [],
    );
    assert.deepEqual(failures, [
      [4, "WINDOW_UNFIT", "model s4@v1"],
      [13, "MODEL_UNFIT", "model unfit"],
    ]);
    const others = [...tasks.keys()].filter((i) => i !== 4 && i !== 13);
    assert.deepEqual(
      others.map((i) => answers[i]),
      expected(others.map((i) => tasks[i])),
    );
    assert.equal(engine.status().trouble, null);
  });
});

describe("models on threads", () => {
  test("are in shared memory once until they are released", async (t) => {
    const engine = await openFor(t);
    const tasks = tasksOf(6);
    await engine.forecast(tasks, options);
    await engine.forecast(tasks, options);
    const bytes = (some: readonly EngineTask[]) =>
      some
        .flatMap(({ model }) => model.members)
        .reduce((sum, { weights, residuals }) => sum + weights.byteLength + (residuals?.byteLength ?? 0), 0);
    assert.equal(engine.status().residentModels, 6);
    assert.equal(engine.status().residentBytes, bytes(tasks));
    for (const { model } of tasks.slice(2)) engine.release(model);
    assert.equal(engine.status().residentModels, 2);
    assert.equal(engine.status().residentBytes, bytes(tasks.slice(0, 2)));
  });

  test("that were released can be forecast again", async (t) => {
    const engine = await openFor(t, 1);
    const tasks = tasksOf(1);
    await engine.forecast(tasks, options);
    engine.release(tasks[0].model);
    assert.deepEqual(await engine.forecast(tasks, options), expected(tasks));
  });

  test("with equal names and versions are kept apart", async (t) => {
    const engine = await openFor(t, 1);
    const tasks = [1, 2].map((seed) => {
      const model = randomModel({ seed });
      return { model, window: waveOf(model) };
    });
    assert.deepEqual(await engine.forecast(tasks, options), expected(tasks));
  });
});

describe("an engine", () => {
  /** A model without a spec: the thread does not refuse it but crashes. */
  const crash = (engine: Engine) => {
    const model = randomModel();
    const members = [{ ...model.members[0], spec: {} as ForecastNetSpec }];
    return engine.forecast([{ model: { ...model, members }, window: waveOf(model) }], options);
  };

  test("whose thread crashed fails pending work, reports why, and refuses later work", async (t) => {
    const engine = await openFor(t, 1);
    const tasks = tasksOf(1);
    const [crashed, pending] = await Promise.allSettled([crash(engine), engine.forecast(tasks, options)]);
    for (const { status, reason } of [crashed, pending] as PromiseRejectedResult[]) {
      assert.equal(status, "rejected");
      assert.equal(reason.code, "ENGINE_FAILED");
      assert.match(reason.message, /^an engine thread ended: /);
    }
    assert.match(engine.status().trouble ?? "", /^an engine thread ended: /);
    await assert.rejects(engine.forecast(tasks, options), { code: "ENGINE_FAILED" });
  });

  test("that was closed refuses work without reporting trouble", async (t) => {
    const engine = await openFor(t, 1);
    await engine.close();
    await assert.rejects(engine.forecast(tasksOf(1), options), {
      code: "ENGINE_FAILED",
      message: "the engine was closed",
    });
    assert.equal(engine.status().trouble, null);
  });
});

test("closing an engine waits for its running forecasts", async (t) => {
  const engine = await openFor(t, 1);
  const tasks = tasksOf(4);
  const asked = engine.forecast(tasks, options);
  await engine.close();
  assert.deepEqual(await asked, expected(tasks));
});

test("an engine reports its executor, device and threads", async (t) => {
  const { name, device, threads } = (await openFor(t, 3)).description;
  assert.deepEqual({ name, device, threads }, { name: "reference", device: "cpu", threads: 3 });
});
