import assert from "node:assert/strict";
import { test } from "node:test";
import { fromDeadLetterHeaders } from "../../../src/log/codec/dead-letter.ts";
import { toDeadLetter } from "../../../src/log/dead-letter.ts";

const record = {
  offset: 41,
  timestampMs: 1_700_000_000_000,
  key: Buffer.from("a"),
  value: Buffer.from([0xff, 0x00]),
  headers: { trace: Buffer.from("t-1") },
};
const origin = { topic: "sensors", partition: 5, record };
const refusal = { reason: "bad-time", detail: "the time is absent" } as const;

test("a dead letter is the record itself, with its origin and the reason beside its own headers", () => {
  const letter = toDeadLetter(origin, refusal, { topic: "dead", partitions: 8 });
  assert.deepEqual([letter.topic, letter.partition], ["dead", 5]);
  assert.equal(letter.key, record.key);
  assert.equal(letter.value, record.value);
  assert.equal(String(letter.headers?.trace), "t-1");
  const headers = Object.entries(letter.headers ?? {}).map(([name, text]) => [name, Buffer.from(text)]);
  assert.deepEqual(fromDeadLetterHeaders(Object.fromEntries(headers)), {
    ...{ topic: "sensors", partition: 5, offset: 41, time: 1_700_000_000_000 },
    ...refusal,
  });
});

test("a narrower dead-letter topic takes what its partitions allow", () => {
  assert.equal(toDeadLetter(origin, refusal, { topic: "dead", partitions: 3 }).partition, 2);
});

test("a record that was a dead letter once and is fed again tells of the newest refusal", () => {
  const first = toDeadLetter(origin, refusal, { topic: "dead", partitions: 8 });
  const headers = Object.fromEntries(
    Object.entries(first.headers ?? {}).map(([name, text]) => [name, Buffer.from(text)]),
  );
  const again = { topic: "sensors", partition: 0, record: { ...record, headers, offset: 99 } };
  const letter = toDeadLetter(again, { ...refusal, reason: "future-time" }, { topic: "dead", partitions: 8 });
  const found = Object.entries(letter.headers ?? {}).map(([name, text]) => [name, Buffer.from(text)]);
  const { offset, reason } = fromDeadLetterHeaders(Object.fromEntries(found)) ?? {};
  assert.deepEqual([offset, reason], [99, "future-time"]);
});
