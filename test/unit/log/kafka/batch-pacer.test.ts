import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BatchPacer } from "../../../../src/log/kafka/batch-pacer.ts";

describe("a pacer", () => {
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

  test("lets all partitions that have input in one turn form batches, and the others together after the interval", async (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const pacer = new BatchPacer(20);
    const retried: string[] = [];
    const retryOf = (name: string) => () => void retried.push(name);
    assert.deepEqual([pacer.tryBegin(retryOf("a")), pacer.tryBegin(retryOf("b"))], [true, true]);
    await nextTurn();
    const [c, d] = [retryOf("c"), retryOf("d")];
    assert.deepEqual([pacer.tryBegin(c), pacer.tryBegin(d)], [false, false]);
    pacer.forget(d);
    context.mock.timers.tick(19);
    assert.deepEqual(retried, []);
    context.mock.timers.tick(1);
    assert.deepEqual(retried, ["c"]);
    assert.equal(pacer.tryBegin(c), true);
  });

  test("without an interval waits for nothing", async () => {
    const pacer = new BatchPacer(0);
    pacer.tryBegin(() => undefined);
    await nextTurn();
    pacer.began();
    assert.equal(
      pacer.tryBegin(() => undefined),
      true,
    );
  });

  test("waits for the end of the shared transaction if that takes longer than the interval", async (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const pacer = new BatchPacer(20);
    const retried: string[] = [];
    const retry = () => void retried.push("retried");
    pacer.tryBegin(retry);
    await nextTurn();
    pacer.began();
    assert.equal(pacer.tryBegin(retry), false);
    context.mock.timers.tick(1_000);
    assert.deepEqual(retried, []);
    pacer.ended();
    assert.deepEqual(retried, ["retried"]);
  });
});
