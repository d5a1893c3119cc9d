import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { WorkQueue } from "../../../../src/engine/threads/work-queue.ts";

/** A queue of up to `maxWorkers` workers named 0, 1 …; `finish` ends the item of a name. */
function queueOf(maxWorkers: number, perWorker: number) {
  let workers = 0;
  const finishByName = new Map<string, (error?: Error) => void>();
  const taken: string[] = [];
  const queue = new WorkQueue<number>({
    perWorker,
    addWorker: () => (workers < maxWorkers ? workers++ : null),
  });
  const add = (name: string, size = 1) =>
    queue.add(size, (worker) => {
      taken.push(`${name}:${worker}`);
      return new Promise<string>((resolve, reject) => {
        finishByName.set(name, (error) => (error === undefined ? resolve(name) : reject(error)));
      });
    });
  const finish = async (name: string, error?: Error) => {
    finishByName.get(name)?.(error);
    await setImmediate();
  };
  return { queue, add, finish, taken };
}

test("the queue adds a worker before it gives a busy one a second item", async () => {
  const { add, taken } = queueOf(2, 2);
  for (const name of ["a", "b", "c", "d", "e"]) add(name);
  assert.deepEqual(taken, ["a:0", "b:1", "c:0", "d:1"]);
});

test("the first worker to finish takes the next item", async () => {
  const { queue, add, finish, taken } = queueOf(2, 1);
  for (const name of ["a", "b", "c", "d"]) add(name, 10);
  assert.equal(queue.waiting, 20);
  await finish("b");
  await finish("c");
  assert.deepEqual(taken, ["a:0", "b:1", "c:1", "d:1"]);
  assert.equal(queue.waiting, 0);
});

test("a worker whose item failed takes the next item", async () => {
  const { add, finish, taken } = queueOf(1, 1);
  const failing = add("a");
  add("b");
  await Promise.all([assert.rejects(failing, /no good/), finish("a", new Error("no good"))]);
  assert.deepEqual(taken, ["a:0", "b:0"]);
});

test("a queue that refuses rejects waiting and later items, but not running ones", async () => {
  const { queue, add, finish } = queueOf(1, 1);
  const [first, second] = [add("a"), add("b")];
  queue.refuse(new Error("closed"));
  await assert.rejects(second, /closed/);
  await assert.rejects(add("c"), /closed/);
  await finish("a");
  assert.equal(await first, "a");
});

test("an included worker is used before another is added", () => {
  const { queue, add, taken } = queueOf(1, 1);
  queue.include(7);
  add("a");
  add("b");
  assert.deepEqual(taken, ["a:7", "b:0"]);
});
