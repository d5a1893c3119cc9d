// Training on real threads: the same models as without, an event loop that stays free, and breaks that cost no more
// than they must.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { constants, getPriority } from "node:os";
import { performance } from "node:perf_hooks";
import { describe, type TestContext, test } from "node:test";
import { openInProcessEngine } from "../../../src/engine/in-process-engine.ts";
import type { ExecutorSetup } from "../../../src/engine/threads/protocol.ts";
import { createFamilies } from "../../../src/models/families.ts";
import { encodeModel } from "../../../src/models/forecastnet/model-bytes.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { trainTask } from "../../../src/training/train-task.ts";
import type { ModelTrainer, TrainingTask } from "../../../src/training/training-task.ts";
import { openTrainingThreads } from "../../../src/training/training-threads.ts";
import { nativeTensorFlow } from "../../rig/tensorflow.ts";
import { challengersOf, historyOf, taskOf, waveOf } from "./support/training-tasks.ts";

const never = new AbortController().signal;
const simd: ExecutorSetup = { kind: "simd" };

async function openFor(t: TestContext, threads = 1, setup = simd): Promise<ModelTrainer> {
  const trainer = await openTrainingThreads({ setup, threads });
  t.after(() => trainer.close());
  return trainer;
}

const taskNamed = (id: string, steps = 240) =>
  taskOf([historyOf(waveOf({ steps, seed: id.length }))], {}, id);
/** Takes some seconds when it is not stopped. */
const longTask = taskOf([historyOf(waveOf({ steps: 2_000 }))], { effort: "thorough" }, "long");
/** No plan at all: not a task that is refused, but one that trips the code. */
const tripping = { ...taskNamed("trip"), plan: null } as unknown as TrainingTask;

describe("training on threads", () => {
  test("gives the models it gives without them, in the order of the tasks", async (t) => {
    const trainer = await openFor(t, 2);
    const tasks = [taskNamed("a"), taskNamed("short", 20), taskNamed("bbb", 200)];
    const results = await trainer.train(tasks, never);
    assert.deepEqual(
      results.map(({ outcome }) => outcome),
      ["trained", "failed", "trained"],
    );
    const families = createFamilies(await openInProcessEngine(simd));
    for (const i of [0, 2]) {
      const [expected] = challengersOf(await trainTask(families, tasks[i], never));
      const [found] = challengersOf(results[i]);
      assert.deepEqual(encodeModel(found.model), encodeModel(expected.model));
      assert.deepEqual({ ...found, model: null }, { ...expected, model: null });
    }
  });

  test("hands weights back in shared memory, and leaves the caller's history to the caller", async (t) => {
    const trainer = await openFor(t);
    const task = taskNamed("a");
    const [{ model }] = challengersOf((await trainer.train([task], never))[0]);
    assert.ok(model.members.every(({ weights }) => weights.buffer instanceof SharedArrayBuffer));
    assert.equal(task.histories[0].values.length, 240);
  });

  test("of no task is no result", async (t) => {
    assert.deepEqual(await (await openFor(t)).train([], never), []);
  });

  test("leaves the event loop free", async (t) => {
    const trainer = await openFor(t);
    await trainer.train([taskNamed("warm")], never);
    const before = performance.eventLoopUtilization();
    const tasks = ["a", "bb", "ccc"].map((id) => taskNamed(id, 600));
    await trainer.train(tasks, never);
    const { utilization } = performance.eventLoopUtilization(before);
    // It would be close to 1 if any of the training were done here.
    assert.ok(utilization < 0.25, `the event loop was busy for ${utilization} of the time`);
  });

  test("stands back behind all else on Linux, and nowhere slows what is beside it", async (t) => {
    const own = getPriority();
    // Threads of earlier tests may still be on their way out.
    const before = new Set(lowThreads());
    await openFor(t);
    assert.equal(getPriority(), own, "the main thread keeps its priority");
    const added = lowThreads().filter((id) => !before.has(id));
    assert.equal(added.length, process.platform === "linux" ? 1 : 0);
  });
});

/** Threads of this process that stand back behind all else; elsewhere than on Linux threads have no such rank. */
function lowThreads(): readonly string[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc/self/task").filter((id) => nicenessOf(id) === constants.priority.PRIORITY_LOW);
}

/** Null for a thread that has ended since it was listed. */
function nicenessOf(id: string): number | null {
  const path = `/proc/self/task/${id}/stat`;
  if (!existsSync(path)) return null;
  const stat = readFileSync(path, "utf8");
  // The name in brackets may hold spaces; niceness is the seventeenth field after it.
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[16]);
}

describe("a training that is cancelled", () => {
  test("ends soon, and its thread goes on with the next", async (t) => {
    const trainer = await openFor(t);
    const stop = new AbortController();
    const [running, waiting] = [1, 2].map(() => trainer.train([longTask], stop.signal));
    // Behind the long ones on the only thread: it can end only once they have been given up.
    const next = trainer.train([taskNamed("a")], never);
    stop.abort();
    assert.deepEqual(await waiting, [{ outcome: "cancelled" }]);
    assert.deepEqual(await running, [{ outcome: "cancelled" }]);
    assert.equal((await next)[0].outcome, "trained");
  });

  test("before it began is never begun", async (t) => {
    const trainer = await openFor(t);
    assert.deepEqual(await trainer.train([longTask], AbortSignal.abort()), [{ outcome: "cancelled" }]);
  });

  test("by closing the trainer ends as cancelled, and nothing more is trained", async (t) => {
    const trainer = await openFor(t);
    const [results] = await Promise.all([trainer.train([longTask], never), trainer.close()]);
    assert.deepEqual(results, [{ outcome: "cancelled" }]);
    await assert.rejects(trainer.train([taskNamed("a")], never), {
      code: "ENGINE_FAILED",
      message: "the trainer was closed",
    });
  });
});

test("a thread without work ends after a while, and the next task starts another", async (t) => {
  const due: { readonly ms: number; readonly act: () => void }[] = [];
  const clock = {
    ...systemClock,
    after: (ms: number, act: () => void) => {
      due.push({ ms, act });
      return () => {
        due.length = 0;
      };
    },
  };
  const idleFor = () => due.at(-1)?.ms ?? null;
  const threads = () => readdirSync("/proc/self/task").length;
  const trainer = await openTrainingThreads({ setup: simd, threads: 1, idleMs: 1_234, clock });
  t.after(() => trainer.close());
  assert.equal(idleFor(), 1_234);
  const withThread = threads();
  const training = trainer.train([taskNamed("a")], never);
  assert.equal(idleFor(), null, "no end is due while it trains");
  assert.equal((await training)[0].outcome, "trained");
  due.at(-1)?.act();
  while (threads() >= withThread) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal((await trainer.train([taskNamed("b")], never))[0].outcome, "trained");
  assert.equal(idleFor(), 1_234);
  await trainer.close();
  assert.equal(idleFor(), null, "nothing keeps the process alive");
});

describe("a thread that dies", () => {
  test("fails its own tasks, and is replaced for the next", async (t) => {
    const trainer = await openFor(t);
    const [tripped, next] = await Promise.allSettled([
      trainer.train([tripping], never),
      trainer.train([taskNamed("a")], never),
    ]);
    assert.equal(tripped.status, "rejected");
    assert.equal((tripped.reason as { code: string }).code, "ENGINE_FAILED");
    assert.match((tripped.reason as Error).message, /^a training thread ended: .*null/);
    assert.ok(next.status === "fulfilled" && next.value[0].outcome === "trained");
  });

  test("leaves those on other threads alone", async (t) => {
    const trainer = await openFor(t, 2);
    const [tripped, beside] = await Promise.allSettled([
      trainer.train([tripping], never),
      trainer.train([taskNamed("a")], never),
    ]);
    assert.deepEqual([tripped.status, beside.status], ["rejected", "fulfilled"]);
  });

  test("for want of an executor makes opening fail", async () => {
    const setup = { kind: "abacus" } as unknown as ExecutorSetup;
    await assert.rejects(openTrainingThreads({ setup, threads: 1 }), { code: "ENGINE_FAILED" });
  });
});

test(
  "with TensorFlow tasks given together are trained by one thread",
  await nativeTensorFlow(),
  async (t) => {
    const trainer = await openFor(t, 4, { kind: "tensorflow", memoryMb: 64 });
    const results = await trainer.train([taskNamed("a"), taskNamed("bb")], never);
    for (const result of results) assert.ok(challengersOf(result)[0].folds.mase < 0.6);
  },
);
