import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { ahead } from "../../../src/runtime/ahead.ts";

/** Yields numbers from 0 on; `seen` has how many it made and whether it was closed. */
function counter(end = Number.POSITIVE_INFINITY) {
  const seen = { made: 0, isClosed: false };
  async function* numbers(): AsyncGenerator<number> {
    try {
      for (let i = 0; i < end; i++) {
        seen.made++;
        yield i;
      }
    } finally {
      seen.isClosed = true;
    }
  }
  return { seen, numbers };
}

const eager = (depth: number, onDepth: (waiting: number) => void = () => {}) => ({
  depth,
  isWorthwhile: () => true,
  onDepth,
});

async function turns(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn++) await setImmediate();
}

test("items pass in order at any depth", async () => {
  for (const depth of [1, 2, 7]) {
    const got: number[] = [];
    for await (const item of ahead(counter(10).numbers(), eager(depth))) got.push(item);
    assert.deepEqual(got, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  }
});

test("at most `depth` items are pulled ahead of a slow reader, and onDepth receives their number", async () => {
  const { seen, numbers } = counter();
  let waiting = -1;
  const onDepth = (depth: number) => {
    waiting = depth;
  };
  const items = ahead(numbers(), eager(3, onDepth));
  for (let read = 1; read <= 5; read++) {
    await items.next();
    await turns();
    assert.deepEqual([seen.made, waiting], [read + 3, 3]);
  }
  await items.return?.(undefined);
});

test("nothing is pulled ahead while an item is not worthwhile", async () => {
  const { seen, numbers } = counter();
  const items = ahead(numbers(), { depth: 3, isWorthwhile: (item) => item === 2, onDepth: () => {} });
  const made: number[] = [];
  for (let read = 0; read < 5; read++) {
    await items.next();
    await turns();
    made.push(seen.made);
  }
  assert.deepEqual(made, [1, 2, 6, 6, 6]);
  await items.return?.(undefined);
});

test("an upstream error is thrown after the items before it", async () => {
  async function* failing(): AsyncGenerator<number> {
    yield 1;
    yield 2;
    throw new Error("no third");
  }
  const items = ahead(failing(), eager(5));
  await turns();
  assert.deepEqual([(await items.next()).value, (await items.next()).value], [1, 2]);
  await assert.rejects(items.next(), /no third/);
});

test("a reader that leaves closes the upstream", async () => {
  const { seen, numbers } = counter();
  for await (const item of ahead(numbers(), eager(2))) if (item === 1) break;
  await turns();
  assert.equal(seen.isClosed, true);
});

test("a reader that fails does not wait for a quiet upstream", {
  timeout: 5_000,
}, async () => {
  async function* quiet(): AsyncGenerator<number> {
    yield 1;
    await new Promise<never>(() => {});
  }
  const read = async () => {
    for await (const _ of ahead(quiet(), eager(2))) throw new Error("the commit was refused");
  };
  await assert.rejects(read(), /the commit was refused/);
});
