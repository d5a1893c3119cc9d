import assert from "node:assert/strict";
import { test } from "node:test";
import type { Engine, FitProgress } from "../../../src/engine/engine.ts";
import { createInProcessEngine } from "../../../src/engine/in-process-engine.ts";
import { createReferenceExecutor } from "../../../src/engine/reference/reference-executor.ts";
import { initialWeights } from "../../../src/models/forecastnet/initial-weights.ts";
import { planNet } from "../../../src/models/forecastnet/plan.ts";
import { fit, gaussian, linear, taskOf, training } from "./support/sine-task.ts";
import { forecast, memberOf, modelOf, options, spec, window } from "./support/still-net.ts";

function createEngine(): Engine {
  const description = { name: "reference", device: "cpu", threads: 0, detail: "plain loops" } as const;
  return createInProcessEngine(createReferenceExecutor(), description);
}

test("forecasts as the shared code does", async () => {
  const model = modelOf([memberOf(spec)]);
  const answers = await createEngine().forecast([{ model, window }], options);
  assert.deepEqual(answers, [forecast(model, {}, createReferenceExecutor())]);
});

test("trains nets of different specs in one call, and reports them by their place in it", async () => {
  const tasks = [
    taskOf({ maxEpochs: 1 }, gaussian),
    taskOf({ maxEpochs: 2 }, linear),
    taskOf({ maxEpochs: 1 }, { ...gaussian }, 5),
  ];
  const progress: FitProgress[] = [];
  const results = await createEngine().fit(tasks, { onProgress: (one) => progress.push(one) });
  tasks.forEach((task, i) => {
    assert.deepEqual(results[i], fit([task]).results[0], `task ${i}`);
  });
  assert.deepEqual(
    progress.map(({ task, epoch }) => [task, epoch]),
    [
      [0, 1],
      [2, 1],
      [1, 1],
      [1, 2],
    ],
  );
});

test("cancels every plan that has not ended", async () => {
  const abort = new AbortController();
  const tasks = [taskOf({ maxEpochs: 50 }, gaussian), taskOf({ maxEpochs: 50 }, linear)];
  const results = await createEngine().fit(tasks, { signal: abort.signal, onProgress: () => abort.abort() });
  assert.deepEqual(results, [{ outcome: "cancelled" }, { outcome: "cancelled" }]);
});

test("differentiates with the executor it was given", async () => {
  const weights = initialWeights(planNet(linear), 1);
  const found = await createEngine().differentiate(linear, weights, training);
  assert.deepEqual(
    found,
    createReferenceExecutor().differentiate({ plan: planNet(linear), weights }, training),
  );
});
