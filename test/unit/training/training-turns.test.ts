import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { TrainingTurns } from "../../../src/training/training-turns.ts";

/** Takes a turn and keeps a diary of when it begins. */
function diary() {
  const turns = new TrainingTurns();
  const begun: string[] = [];
  const endByName = new Map<string, () => void>();
  const never = new AbortController().signal;
  return {
    begun,
    async ask(name: string, isAlone: boolean, signal = never): Promise<void> {
      void turns.take(isAlone, signal).then((end) => {
        begun.push(end === null ? `${name} left` : name);
        if (end !== null) endByName.set(name, end);
      });
      await setImmediate();
    },
    async end(name: string): Promise<void> {
      endByName.get(name)?.();
      await setImmediate();
    },
  };
}

test("turns that may be shared are shared", async () => {
  const { begun, ask } = diary();
  await ask("a", false);
  await ask("b", false);
  assert.deepEqual(begun, ["a", "b"]);
});

test("whoever must be alone waits for the others, and the others for it", async () => {
  const { begun, ask, end } = diary();
  await ask("a", false);
  await ask("suspect", true);
  await ask("b", false);
  await ask("c", false);
  assert.deepEqual(begun, ["a"]);
  await end("a");
  assert.deepEqual(begun, ["a", "suspect"]);
  await end("suspect");
  assert.deepEqual(begun, ["a", "suspect", "b", "c"]);
});

test("two that must be alone follow one another", async () => {
  const { begun, ask, end } = diary();
  await ask("first", true);
  await ask("second", true);
  assert.deepEqual(begun, ["first"]);
  await end("first");
  assert.deepEqual(begun, ["first", "second"]);
});

test("whoever leaves the queue holds nobody up", async () => {
  const { begun, ask } = diary();
  const patience = new AbortController();
  await ask("a", false);
  await ask("suspect", true, patience.signal);
  await ask("b", false);
  patience.abort();
  await setImmediate();
  assert.deepEqual(begun, ["a", "suspect left", "b"]);
  await ask("late", false, patience.signal);
  assert.deepEqual(begun.at(-1), "late left");
});
