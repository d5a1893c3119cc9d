// What a thread does with its messages, without a thread.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ToThread } from "../../../../src/engine/threads/protocol.ts";
import { ThreadWork } from "../../../../src/engine/threads/thread-work.ts";
import { ForecastnetError } from "../../../../src/runtime/errors.ts";
import { randomModel } from "../../../rig/random-model.ts";

/** A thread and the log of all it did and posted. */
function openThread() {
  const log: string[] = [];
  const work = new ThreadWork({
    forecast: (tasks, { paths }) => {
      if (paths === 0) throw new ForecastnetError("CONFIG_INVALID", "no paths");
      log.push(`forecast ${tasks.map(({ model }) => model.key)}`);
      return tasks.map(() => new ForecastnetError("WINDOW_UNFIT", "for the test"));
    },
    release: ({ key }) => log.push(`release ${key}`),
    resident: () => null,
    post: (message) => log.push("job" in message ? `${message.kind} ${message.job}` : message.kind),
    end: () => log.push("end"),
  });
  const send = (...messages: readonly ToThread[]) => {
    for (const message of messages) work.handle(message);
  };
  return { log, send };
}

const modelMessage: ToThread = { kind: "model", id: 5, model: randomModel() };
const forecast = (job: number, paths = 1): ToThread => ({
  kind: "forecast",
  job,
  options: { paths, levels: [] },
  tasks: { modelIds: Int32Array.of(5), lengths: Int32Array.of(0), windows: new Float64Array(0) },
});

test("a forgotten model is released, and a forecast with it throws", () => {
  const { log, send } = openThread();
  send(modelMessage, { kind: "forget", id: 5 });
  assert.deepEqual(log, ["release a"]);
  assert.throws(() => send(forecast(1)), /this thread was not sent model number 5/);
});

test("a refused job fails, and the thread continues", () => {
  const { log, send } = openThread();
  send(modelMessage, forecast(4, 0), forecast(5));
  assert.deepEqual(log, ["failed 4", "forecast a", "done 5"]);
});

test("a thread that is told to close answers what it was asked before, then ends", () => {
  const { log, send } = openThread();
  send(modelMessage, forecast(1), { kind: "close" });
  assert.deepEqual(log, ["forecast a", "done 1", "end"]);
});
