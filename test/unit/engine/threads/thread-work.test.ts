// The order in which a thread works, with its turns taken by hand.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ToThread } from "../../../../src/engine/threads/protocol.ts";
import { ThreadWork } from "../../../../src/engine/threads/thread-work.ts";
import type { FitResult } from "../../../../src/models/forecastnet/engine.ts";
import { ForecastnetError } from "../../../../src/runtime/errors.ts";
import { randomModel } from "../../../rig/random-model.ts";

const cancelled: readonly FitResult[] = [{ outcome: "cancelled" }];

/** A thread whose trainings take `steps` steps. `turn` runs the next step; `log` has all it did and posted. */
function threadOf(steps: number) {
  const log: string[] = [];
  const due: (() => void)[] = [];
  const work = new ThreadWork({
    forecast: (tasks, { paths }) => {
      if (paths === 0) throw new ForecastnetError("CONFIG_INVALID", "no paths");
      log.push(`forecast ${tasks.map(({ model }) => model.key)}`);
      return tasks.map(() => new ForecastnetError("WINDOW_UNFIT", "for the test"));
    },
    train: () => {
      let left = steps;
      return {
        next: () => {
          if (left === 0) return { done: true, value: cancelled };
          log.push(`step ${left--}`);
          return { done: false, value: null };
        },
        cancel: () => {
          left = 0;
        },
      };
    },
    release: ({ key }) => log.push(`release ${key}`),
    resident: () => null,
    post: (message) => log.push("job" in message ? `${message.kind} ${message.job}` : message.kind),
    afterMessages: (act) => due.push(act),
    end: () => log.push("end"),
  });
  const send = (...messages: readonly ToThread[]) => {
    for (const message of messages) work.handle(message);
  };
  return { log, send, turn: () => due.shift()?.() };
}

const modelMessage: ToThread = { kind: "model", id: 5, model: randomModel() };
const fit = (job: number): ToThread => ({ kind: "fit", job, tasks: [] });
const forecast = (job: number, paths = 1): ToThread => ({
  kind: "forecast",
  job,
  options: { paths, levels: [] },
  tasks: { modelIds: Int32Array.of(5), lengths: Int32Array.of(0), windows: new Float64Array(0) },
});

test("a forecast that arrives during a training runs before its next step", () => {
  const { log, send, turn } = threadOf(2);
  send(modelMessage, fit(1));
  turn();
  send(forecast(2), forecast(3));
  turn();
  turn();
  const forecasts = ["forecast a", "done 2", "forecast a", "done 3"];
  assert.deepEqual(log, ["step 2", ...forecasts, "step 1", "done 1"]);
});

test("trainings run one after the other, and none starts before the messages are handled", () => {
  const { log, send, turn } = threadOf(1);
  send(fit(1), fit(2));
  assert.deepEqual(log, []);
  for (let i = 0; i < 5; i++) turn();
  assert.deepEqual(log, ["step 1", "done 1", "step 1", "done 2"]);
});

test("a cancelled training ends at its next turn, and the others continue", () => {
  const { log, send, turn } = threadOf(3);
  send(fit(1), fit(2));
  turn();
  send({ kind: "cancel", job: 1 }, { kind: "cancel", job: 99 });
  turn();
  turn();
  assert.deepEqual(log, ["step 3", "done 1", "step 3"]);
});

test("a thread that is told to close answers its trainings, then ends", () => {
  const { log, send, turn } = threadOf(3);
  send(fit(1), fit(2), { kind: "close" });
  for (let i = 0; i < 3; i++) turn();
  assert.deepEqual(log, ["done 1", "done 2", "end"]);
});

test("a forgotten model is released, and a forecast with it throws", () => {
  const { log, send } = threadOf(0);
  send(modelMessage, { kind: "forget", id: 5 });
  assert.deepEqual(log, ["release a"]);
  assert.throws(() => send(forecast(1)), /this thread was not sent model number 5/);
});

test("a refused job fails, and the thread continues", () => {
  const { log, send } = threadOf(0);
  send(modelMessage, forecast(4, 0), forecast(5));
  assert.deepEqual(log, ["failed 4", "forecast a", "done 5"]);
});
