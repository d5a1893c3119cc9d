// Executors as the product hosts them: each loads in a thread, agrees with the reference, and trains. TensorFlow runs on the
// backend that is set up on this machine.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { forecastModels } from "../../../../src/engine/forecast-model.ts";
import { openInProcessEngine } from "../../../../src/engine/in-process-engine.ts";
import { createReferenceExecutor } from "../../../../src/engine/reference/reference-executor.ts";
import type { ExecutorSetup } from "../../../../src/engine/threads/protocol.ts";
import { openThreadedEngine } from "../../../../src/engine/threads/threaded-engine.ts";
import type {
  Engine,
  EngineForecast,
  EngineTask,
  FitTask,
} from "../../../../src/models/forecastnet/engine.ts";
import { frameHistory } from "../../../../src/models/forecastnet/framing.ts";
import { randomModel, waveOf } from "../../../rig/random-model.ts";

const options = { paths: 8, levels: [0.1, 0.9] };

const tasks: readonly EngineTask[] = [1, 2, 3].map((seed) => {
  const model = randomModel({ key: `s${seed}`, seed });
  return { model, window: waveOf(model, seed) };
});

/** The third net has another shape. */
const fits: readonly FitTask[] = [1, 2, 3].map((seed) => {
  const { scaler, members } = randomModel({ seed, horizon: seed === 3 ? 2 : 3 });
  const [{ spec, weights }] = members;
  const history = Float64Array.from({ length: 60 }, (_, i) => 5 + 3 * Math.sin(i / 3 + seed));
  const rows = frameHistory(spec, scaler, history, { from: 0, to: 60 });
  return {
    spec,
    start: weights,
    training: rows,
    validation: rows,
    options: {
      seed,
      batchSize: 16,
      maxEpochs: 2,
      learningRate: 0.01,
      weightDecay: 0,
      shortcutRate: 1,
      schedule: "constant",
      stepsPerEpoch: null,
      criterion: "forced",
    },
  };
});

async function openFor(t: TestContext, setup: ExecutorSetup): Promise<Engine> {
  const engine = await openThreadedEngine({ setup, threads: 1 });
  t.after(() => engine.close());
  return engine;
}

for (const setup of [{ kind: "simd" }, { kind: "tensorflow", memoryMb: 64 }] as const) {
  describe(`the ${setup.kind} executor`, () => {
    test("forecasts as the reference does, and reports its hardware", async (t) => {
      const engine = await openFor(t, setup);
      const { name, device, detail } = engine.description;
      assert.equal(name, setup.kind);
      assert.ok(["cpu", "gpu"].includes(device) && detail !== "", `${device}: ${detail}`);
      const answers = (await engine.forecast(tasks, options)) as readonly EngineForecast[];
      const expected = forecastModels(createReferenceExecutor(), tasks, options) as readonly EngineForecast[];
      const numbers = ({ mean, standardDeviation, quantiles }: EngineForecast) =>
        [mean, standardDeviation, ...quantiles].flatMap((values) => [...values]);
      for (const [i, answer] of answers.entries()) {
        for (const [n, value] of numbers(answer).entries()) {
          const wanted = numbers(expected[i])[n];
          assert.ok(Math.abs(value / wanted - 1) <= 1e-4, `task ${i}: ${value} instead of ${wanted}`);
        }
      }
    });

    test("trains nets of several shapes", async (t) => {
      const engine = await openInProcessEngine(setup);
      t.after(() => engine.close());
      const results = await engine.fit(fits);
      assert.equal(results.length, fits.length);
      for (const [i, result] of results.entries()) {
        assert.ok(result.outcome === "fitted", JSON.stringify(result));
        assert.equal(result.weights.length, fits[i].start.length);
        assert.notDeepEqual([...result.weights], [...fits[i].start]);
      }
    });
  });
}

test("the engine reports what tensorflow keeps on its device, and release frees it", async (t) => {
  const engine = await openFor(t, { kind: "tensorflow", memoryMb: 64 });
  await engine.forecast(tasks, options);
  const { byteLength } = tasks[0].model.members[0].weights;
  const { residentModels, residentBytes } = engine.status();
  assert.deepEqual([residentModels, residentBytes], [3, 3 * byteLength]);
  engine.release(tasks[0].model);
  await engine.forecast(tasks.slice(1), options);
  assert.equal(engine.status().residentModels, 2);
});
