// What a thread does in which order, with its turns taken by hand.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { FitResult } from "../../../../src/engine/engine.ts";
import type { ToThread } from "../../../../src/engine/threads/protocol.ts";
import { ThreadWork } from "../../../../src/engine/threads/thread-work.ts";
import { ForecastnetError } from "../../../../src/runtime/errors.ts";
import { randomModel } from "../../../rig/random-model.ts";

const cancelled: readonly FitResult[] = [{ outcome: "cancelled" }];

/** A thread whose trainings take `steps` steps; `turn` gives it one, `heard` is all it did and said. */
function threadOf(steps: number) {
  const heard: string[] = [];
  const due: (() => void)[] = [];
  const work = new ThreadWork({
    forecast: (tasks) => {
      heard.push(`forecast ${tasks.map(({ model }) => model.key)}`);
      return tasks.map(() => new ForecastnetError("WINDOW_UNFIT", "no matter"));
    },
    train: () => {
      let left = steps;
      return {
        next: () => {
          if (left === 0) return { done: true, value: cancelled };
          heard.push(`step ${left--}`);
          return { done: false, value: null };
        },
        cancel: () => {
          left = 0;
        },
      };
    },
    differentiate: () => {
      throw new ForecastnetError("MODEL_UNFIT", "no such net");
    },
    release: ({ key }) => heard.push(`release ${key}`),
    resident: () => null,
    post: (message) => heard.push("job" in message ? `${message.kind} ${message.job}` : message.kind),
    soon: (act) => due.push(act),
    end: () => heard.push("end"),
  });
  const send = (...messages: readonly ToThread[]) => {
    for (const message of messages) work.handle(message);
  };
  return { heard, send, turn: () => due.shift()?.() };
}

const modelMessage: ToThread = { kind: "model", id: 5, model: randomModel() };
const fit = (job: number): ToThread => ({ kind: "fit", job, tasks: [] });
const forecast = (job: number): ToThread => ({
  ...{ kind: "forecast", job, options: { paths: 1, levels: [], keepPaths: false } },
  tasks: { modelIds: Int32Array.of(5), lengths: Int32Array.of(0), windows: new Float64Array(0) },
});

test("a forecast that comes during a training is done before its next step", () => {
  const { heard, send, turn } = threadOf(2);
  send(modelMessage, fit(1));
  turn();
  send(forecast(2), forecast(3));
  turn();
  turn();
  const forecasts = ["forecast a", "done 2", "forecast a", "done 3"];
  assert.deepEqual(heard, ["step 2", ...forecasts, "step 1", "done 1"]);
});

test("trainings follow one another, and none begins before it is due", () => {
  const { heard, send, turn } = threadOf(1);
  send(fit(1), fit(2));
  assert.deepEqual(heard, []);
  for (let i = 0; i < 5; i++) turn();
  assert.deepEqual(heard, ["step 1", "done 1", "step 1", "done 2"]);
});

test("a cancelled training ends with its next turn, and only that one", () => {
  const { heard, send, turn } = threadOf(3);
  send(fit(1), fit(2));
  turn();
  send({ kind: "cancel", job: 1 }, { kind: "cancel", job: 99 });
  turn();
  turn();
  assert.deepEqual(heard, ["step 3", "done 1", "step 3"]);
});

test("a thread told to close answers its trainings first, then ends", () => {
  const { heard, send, turn } = threadOf(3);
  send(fit(1), fit(2), { kind: "close" });
  for (let i = 0; i < 3; i++) turn();
  assert.deepEqual(heard, ["done 1", "done 2", "end"]);
});

test("a forgotten model is released, and asking for it is a fault of the engine", () => {
  const { heard, send } = threadOf(0);
  send(modelMessage, { kind: "forget", id: 5 });
  assert.deepEqual(heard, ["release a"]);
  assert.throws(() => send(forecast(1)), /model number 5 was not announced/);
});

test("a job that is refused is answered so, and the thread goes on", () => {
  const { heard, send } = threadOf(0);
  const { members } = randomModel();
  const rows = { count: 0, windows: new Float32Array(0), targets: new Float32Array(0) };
  send({ kind: "differentiate", job: 4, spec: members[0].spec, weights: members[0].weights, rows });
  send(modelMessage, forecast(5));
  assert.deepEqual(heard, ["failed 4", "forecast a", "done 5"]);
});
