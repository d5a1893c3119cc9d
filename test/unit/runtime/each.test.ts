import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { forEach, mapEach } from "../../../src/runtime/each.ts";

interface Source {
  closed: number;
  items(): AsyncGenerator<number>;
}

function sourceOf(...numbers: readonly number[]): Source {
  const source: Source = {
    closed: 0,
    async *items() {
      try {
        yield* numbers;
      } finally {
        source.closed++;
      }
    },
  };
  return source;
}

describe("a mapped source", () => {
  test("gives what the step makes of each item, then ends", async () => {
    const got: number[] = [];
    for await (const item of mapEach(sourceOf(1, 2, 3).items(), async (n) => 10 * n)) got.push(item);
    assert.deepEqual(got, [10, 20, 30]);
  });

  test("asked several times at once takes the items one after the other", async () => {
    const events: string[] = [];
    const mapped = mapEach(sourceOf(1, 2).items(), async (n) => {
      events.push(`begin ${n}`);
      await new Promise((resolve) => setImmediate(resolve));
      events.push(`end ${n}`);
      return n;
    });
    const results = await Promise.all([mapped.next(), mapped.next(), mapped.next()]);
    assert.deepEqual(events, ["begin 1", "end 1", "begin 2", "end 2"]);
    assert.deepEqual(
      results.map(({ value }) => value),
      [1, 2, undefined],
    );
  });

  test("whose step fails throws, closes its source and gives nothing more", async () => {
    const source = sourceOf(1, 2, 3);
    const mapped = mapEach(source.items(), (n) => {
      if (n === 2) throw new Error("no two");
      return n;
    });
    assert.deepEqual(await mapped.next(), { done: false, value: 1 });
    await assert.rejects(mapped.next(), { message: "no two" });
    assert.equal(source.closed, 1);
    assert.deepEqual(await mapped.next(), { done: true, value: undefined });
  });

  test("whose source fails throws once", async () => {
    const mapped = mapEach(
      (async function* () {
        yield 1;
        throw new Error("broken");
      })(),
      (n) => n,
    );
    await mapped.next();
    await assert.rejects(mapped.next(), { message: "broken" });
    assert.equal((await mapped.next()).done, true);
  });

  test("left early closes its source", async () => {
    const source = sourceOf(1, 2, 3);
    for await (const item of mapEach(source.items(), (n) => n)) if (item === 2) break;
    assert.equal(source.closed, 1);
  });

  test("keeps no item while it waits for the next", async () => {
    let isFreed = false;
    const registry = new FinalizationRegistry(() => {
      isFreed = true;
    });
    let sendNext: (item: object) => void = () => {};
    const source: AsyncIterable<object> = {
      [Symbol.asyncIterator]: () => ({
        next: () =>
          new Promise((resolve) => {
            sendNext = (item) => resolve({ done: false, value: item });
          }),
      }),
    };
    const stages = mapEach(
      mapEach(source, ({ ...copy }) => copy),
      (item) => {
        registry.register(item, null);
        return item;
      },
    );
    const acting = forEach(stages, async () => {});
    await new Promise((resolve) => setImmediate(resolve));
    sendNext({ large: true });
    const { setFlagsFromString } = await import("node:v8");
    setFlagsFromString("--expose-gc");
    const collect = (await import("node:vm")).runInNewContext("gc") as () => void;
    for (let attempt = 0; !isFreed && attempt < 50; attempt++) {
      await new Promise((resolve) => setImmediate(resolve));
      collect();
    }
    assert.ok(isFreed, "the item is garbage although the stages still wait");
    void acting;
  });
});

test("forEach waits for one act before the next, and throws what an act throws", async () => {
  const acted: number[] = [];
  const source = sourceOf(1, 2, 3);
  const acting = forEach(source.items(), async (n) => {
    await new Promise((resolve) => setImmediate(resolve));
    if (n === 3) throw new Error("no three");
    acted.push(n);
  });
  await assert.rejects(acting, { message: "no three" });
  assert.deepEqual([acted, source.closed], [[1, 2], 1]);
});
