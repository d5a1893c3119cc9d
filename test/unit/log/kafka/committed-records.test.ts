import assert from "node:assert/strict";
import { test } from "node:test";
import { committedOf, type RawMessage } from "../../../../src/log/kafka/committed-records.ts";

function message(offset: number, producerId: string, changes: Partial<RawMessage> = {}): RawMessage {
  return {
    offset: String(offset),
    timestamp: "0",
    key: null,
    value: Buffer.from(`v${offset}`),
    headers: {},
    isControlRecord: false,
    batchContext: { producerId, inTransaction: true, firstOffset: String(offset), lastOffsetDelta: 0 },
    ...changes,
  };
}

/** The record that ends a transaction: its key is a version, then 0 for aborted or 1 for committed. */
function marker(offset: number, producerId: string, type: 0 | 1): RawMessage {
  return message(offset, producerId, { isControlRecord: true, key: Buffer.from([0, 0, 0, type]) });
}

function offsetsFrom(
  fromOffset: number,
  messages: readonly RawMessage[],
  aborted: readonly [producerId: string, firstOffset: number][] = [],
): number[] {
  const abortedTransactions = aborted.map(([producerId, first]) => ({
    producerId,
    firstOffset: String(first),
  }));
  const fetched = { partition: 0, highWatermark: "9", lastStableOffset: "9", abortedTransactions, messages };
  return committedOf(fetched, fromOffset).map(({ offset }) => offset);
}

test("the records that end transactions are not given", () => {
  assert.deepEqual(
    offsetsFrom(0, [message(0, "a"), marker(1, "a", 1), message(2, "a"), marker(3, "a", 1)]),
    [0, 2],
  );
});

test("an aborted transaction is left out, and the writer's next is not", () => {
  const messages = [message(0, "a"), message(1, "b"), marker(2, "a", 0), message(3, "a"), marker(4, "a", 1)];
  assert.deepEqual(offsetsFrom(0, messages, [["a", 0]]), [1, 3]);
});

test("an aborted transaction that began before the answer is left out", () => {
  assert.deepEqual(offsetsFrom(5, [message(5, "a"), marker(6, "a", 0), message(7, "a")], [["a", 2]]), [7]);
});

test("what a batch holds before the offset asked for is not given again", () => {
  assert.deepEqual(
    offsetsFrom(2, [message(0, "a"), message(1, "a"), message(2, "a"), message(3, "a")]),
    [2, 3],
  );
});
