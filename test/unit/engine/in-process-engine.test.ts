import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { NetExecutor } from "../../../src/engine/executor.ts";
import { createInProcessEngine } from "../../../src/engine/in-process-engine.ts";
import { createReferenceExecutor } from "../../../src/engine/reference/reference-executor.ts";
import type { Engine } from "../../../src/models/forecastnet/engine.ts";
import { scripted } from "./support/scripted-session.ts";
import { fit, gaussian, linear, scriptedTask, taskOf } from "./support/sine-task.ts";
import { forecast, memberOf, modelOf, options, spec, window } from "./support/still-net.ts";

function engineOn(executor: NetExecutor = createReferenceExecutor()): Engine {
  const description = { name: "reference", device: "cpu", threads: 0, detail: "plain loops" } as const;
  return createInProcessEngine(executor, description);
}

/** A validation loss that falls, and aborts the training once a net has taken that many steps. */
function abortAt(abort: AbortController, steps: number, last: number): number {
  if (steps >= last) abort.abort();
  return 99 - steps;
}

test("an in-process engine forecasts as the shared code does", async () => {
  const model = modelOf([memberOf(spec)]);
  const answers = await engineOn().forecast([{ model, window }], options);
  assert.deepEqual(answers, [forecast(model, {}, createReferenceExecutor())]);
});

describe("training in an in-process engine", () => {
  test("accepts different specs in one call", async () => {
    const tasks = [
      taskOf({ maxEpochs: 1 }, gaussian),
      taskOf({ maxEpochs: 2 }, linear),
      taskOf({ maxEpochs: 1 }, { ...gaussian }, 5),
    ];
    const results = await engineOn().fit(tasks);
    tasks.forEach((task, i) => {
      assert.deepEqual(results[i], fit([task])[0], `task ${i}`);
    });
  });

  test("cancels the nets of every plan that have not ended", async () => {
    const abort = new AbortController();
    const { executor } = scripted({ validation: (steps) => abortAt(abort, steps, 1) });
    const tasks = [taskOf({ maxEpochs: 50 }, gaussian), taskOf({ maxEpochs: 50 }, linear)];
    const results = await engineOn(executor).fit(tasks, abort.signal);
    assert.deepEqual(results, [{ outcome: "cancelled" }, { outcome: "cancelled" }]);
  });

  test("yields to the event loop between steps", async () => {
    const { executor } = scripted({ validation: (steps) => 99 - steps });
    let turns = 0;
    const other = setInterval(() => turns++, 0);
    await engineOn(executor).fit([scriptedTask({ maxEpochs: 2000 })]);
    clearInterval(other);
    assert.ok(turns > 0, "a timer fired during the training");
  });

  test("ends between two steps when cancelled, keeps finished results, and closes the session", async () => {
    const abort = new AbortController();
    const { executor, sessions } = scripted({ validation: (steps) => abortAt(abort, steps, 3) });
    const tasks = [scriptedTask({ maxEpochs: 50 }), scriptedTask({ maxEpochs: 1 })];
    const results = await engineOn(executor).fit(tasks, abort.signal);
    assert.deepEqual(
      results.map(({ outcome }) => outcome),
      ["cancelled", "fitted"],
    );
    assert.equal(sessions[0].stepsOf[0], 3);
    assert.equal(sessions[0].closed, 1);
  });

  test("that is cancelled before it starts opens no session", async () => {
    const { executor, sessions } = scripted({ validation: () => 1 });
    const results = await engineOn(executor).fit([scriptedTask()], AbortSignal.abort());
    assert.deepEqual(results, [{ outcome: "cancelled" }]);
    assert.equal(sessions.length, 0);
  });

  test("closes the session when a step fails", async () => {
    const training = () => assert.fail("no memory");
    const { executor, sessions } = scripted({ validation: () => 1, training });
    await assert.rejects(engineOn(executor).fit([scriptedTask()]), /no memory/);
    assert.equal(sessions[0].closed, 1);
  });
});
