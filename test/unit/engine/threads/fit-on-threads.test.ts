// Training by an engine on real threads with the reference executor.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { fitNets } from "../../../../src/engine/fit.ts";
import { createReferenceExecutor } from "../../../../src/engine/reference/reference-executor.ts";
import { openThreadedEngine } from "../../../../src/engine/threads/threaded-engine.ts";
import type { Engine, FitProgress, FitTask } from "../../../../src/models/forecastnet/engine.ts";
import { frameHistory } from "../../../../src/models/forecastnet/framing.ts";
import { randomModel, waveOf } from "../../../rig/random-model.ts";

async function openFor(t: TestContext, threads = 2): Promise<Engine> {
  const engine = await openThreadedEngine({ setup: { kind: "reference" }, threads });
  t.after(() => engine.close());
  return engine;
}

function taskOf(seed: number, maxEpochs: number): FitTask {
  const { scaler, members } = randomModel({ seed, spec: { inputLength: 4 + (seed % 2) } });
  const [{ spec, weights }] = members;
  const history = Float64Array.from({ length: 120 }, (_, i) => 5 + 3 * Math.sin(i / 3 + seed));
  const setOf = (from: number, to: number) => {
    const { count, windows, targets } = frameHistory(spec, scaler, history, { from, to });
    return { count, windows, targets };
  };
  return {
    spec,
    start: weights,
    training: setOf(0, 90),
    validation: setOf(90, 120),
    options: {
      seed,
      batchSize: 16,
      maxEpochs,
      patience: maxEpochs,
      learningRates: [0.01],
      searchEpochs: 1,
      weightDecay: 0,
      shortcutRate: 1,
      schedule: "constant",
      stepsPerEpoch: null,
      keepsEpochs: false,
      criterion: "forced",
    },
  };
}

function resultWithoutThreads(task: FitTask) {
  const fitting = fitNets(createReferenceExecutor(), [task]);
  for (;;) {
    const step = fitting.next();
    if (step.done === true) return step.value[0];
  }
}

describe("training on threads", () => {
  test("gives the same results as without threads, in the order of the tasks, and reports every epoch", async (t) => {
    const engine = await openFor(t);
    const tasks = [1, 2, 3].map((seed) => taskOf(seed, 3));
    const reported: FitProgress[] = [];
    const results = await engine.fit(tasks, { onProgress: (progress) => reported.push(progress) });
    assert.deepEqual(results, tasks.map(resultWithoutThreads));
    for (const task of [0, 1, 2]) {
      const epochs = reported.filter((progress) => progress.task === task).map(({ epoch }) => epoch);
      assert.ok(
        epochs.length >= 3 && epochs.every((epoch, i) => i === 0 || epoch > epochs[i - 1]),
        `${epochs}`,
      );
    }
  });

  test("returns weights in shared memory", async (t) => {
    const engine = await openFor(t, 1);
    const [result] = await engine.fit([taskOf(1, 2)]);
    assert.ok(result.outcome === "fitted" && result.weights.buffer instanceof SharedArrayBuffer);
  });

  test("lets forecasts through and continues", async (t) => {
    const engine = await openFor(t, 1);
    const model = randomModel();
    const order: string[] = [];
    let training: ReturnType<Engine["fit"]> | undefined;
    await new Promise<void>((resolve) => {
      training = engine.fit([taskOf(1, 400)], { onProgress: () => resolve() });
    });
    training?.then(() => order.push("trained"));
    for (let i = 0; i < 3; i++) {
      const options = { paths: 4, levels: [0.5] };
      await engine.forecast([{ model, window: waveOf(model) }], options);
      order.push("forecast");
    }
    assert.equal((await training)?.[0].outcome, "fitted");
    assert.deepEqual(order, ["forecast", "forecast", "forecast", "trained"]);
  });

  test("ends between two steps when it is cancelled, together with waiting trainings", async (t) => {
    const engine = await openFor(t, 1);
    const stop = new AbortController();
    const tasks = [taskOf(1, 1e9), taskOf(2, 1e9)];
    const results = await engine.fit(tasks, { signal: stop.signal, onProgress: () => stop.abort() });
    assert.deepEqual(results, [{ outcome: "cancelled" }, { outcome: "cancelled" }]);
    assert.equal((await engine.fit([taskOf(1, 1)]))[0].outcome, "fitted");
  });

  test("is cancelled by closing the engine", async (t) => {
    const engine = await openFor(t, 1);
    const [results] = await Promise.all([engine.fit([taskOf(1, 1e9)]), engine.close()]);
    assert.deepEqual(results, [{ outcome: "cancelled" }]);
  });

  test("that is refused fails alone", async (t) => {
    const engine = await openFor(t, 1);
    const refused = { ...taskOf(1, 1), start: new Float32Array(2) };
    await assert.rejects(engine.fit([refused]), { code: "MODEL_UNFIT" });
    assert.equal((await engine.fit([taskOf(1, 1)]))[0].outcome, "fitted");
  });
});
