import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fromDeadLetterHeaders, toDeadLetter, toDeadLetterHeaders } from "../../../src/log/dead-letter.ts";
import type { StoredRecord } from "../../../src/log/log.ts";
import { estimatedBytes } from "../../../src/log/record-size.ts";

const record = {
  offset: 41,
  timestampMs: 1_700_000_000_000,
  key: Buffer.from("a"),
  value: Buffer.from([0xff, 0x00]),
  headers: [
    { key: "trace", value: Buffer.from("t-1") },
    { key: "trace", value: null },
    { key: "trace", value: Buffer.from("t-2") },
  ],
};
const place = { topic: "sensors", partition: 5, record };
const dead = { topic: "dead", partitions: 8, maxBytes: 10_000 };
const refusal = { reason: "bad-time", detail: "the time is absent" } as const;

test("a dead letter is the record itself, with its source and the reason beside its own headers", () => {
  const letter = toDeadLetter(place, refusal, dead);
  assert.deepEqual([letter.topic, letter.partition], ["dead", 5]);
  assert.equal(letter.key, record.key);
  assert.equal(letter.value, record.value);
  assert.deepEqual(letter.headers?.slice(0, 3), record.headers);
  assert.deepEqual(fromDeadLetterHeaders(letter.headers ?? []), {
    ...{ topic: "sensors", partition: 5, offset: 41, time: 1_700_000_000_000 },
    ...{ ...refusal, truncated: "" },
  });
});

test("a dead letter for a narrower topic goes to its partition modulo the width", () => {
  assert.equal(toDeadLetter(place, refusal, { ...dead, partitions: 3 }).partition, 2);
});

test("a former dead letter that is refused again states the newest refusal", () => {
  const first = toDeadLetter(place, refusal, dead);
  const again = {
    ...{ topic: "sensors", partition: 0 },
    record: { ...record, headers: first.headers ?? [], offset: 99 },
  };
  const letter = toDeadLetter(again, { ...refusal, reason: "future-time" }, dead);
  const { offset, reason } = fromDeadLetterHeaders(letter.headers ?? []) ?? {};
  assert.deepEqual([offset, reason], [99, "future-time"]);
});

describe("a dead letter too large for its topic", () => {
  const bytes = (count: number) => Buffer.alloc(count, "x");
  const many = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ key: `h${n}`, value: Buffer.from("0123456789") }));
  const letterOf = (changes: Partial<StoredRecord>, maxBytes = dead.maxBytes) => {
    const letter = toDeadLetter({ ...place, record: { ...record, ...changes } }, refusal, {
      ...dead,
      maxBytes,
    });
    assert.ok(
      estimatedBytes(letter) <= maxBytes,
      `${estimatedBytes(letter)} bytes, the topic takes ${maxBytes}`,
    );
    const facts = fromDeadLetterHeaders(letter.headers ?? []);
    assert.deepEqual([facts?.reason, facts?.offset], ["bad-time", 41]);
    return { ...letter, truncated: facts?.truncated };
  };

  test("loses headers first, the last ones", () => {
    const { key, value, headers = [], truncated } = letterOf({ value: bytes(8_000), headers: many(100) });
    assert.deepEqual([key, value], [record.key, bytes(8_000)]);
    const kept = headers.length - 7;
    assert.ok(kept > 10 && kept < 60, `${kept} kept`);
    assert.deepEqual(headers.slice(0, kept), many(kept));
    assert.equal(truncated, `${100 - kept} headers dropped`);
  });

  test("loses the end of its value next, and then the end of its key", () => {
    const large = letterOf({ value: bytes(20_000), headers: many(3) });
    const left = large.value?.length ?? 0;
    assert.ok(left > 8_500, `${left} bytes of the value kept`);
    assert.equal(large.truncated, `value cut from 20000 to ${left} bytes; 3 headers dropped`);
    assert.deepEqual(large.key, record.key);
    const huge = letterOf({ key: bytes(20_000), value: bytes(5) });
    assert.match(
      huge.truncated ?? "",
      /^key cut from 20000 to \d+ bytes; value cut from 5 to 0 bytes; 3 headers dropped$/,
    );
  });

  test("stays without key and value if it had none", () => {
    const { key, value } = letterOf({ key: null, value: null, headers: many(1_000) });
    assert.deepEqual([key, value], [null, null]);
  });

  test("keeps a thousand of a hundred thousand headers, whatever the topic accepts", () => {
    const { headers = [], truncated } = letterOf({ headers: many(100_000) }, 16 * 2 ** 20);
    assert.equal(headers.length, 1_007);
    assert.equal(truncated, "99000 headers dropped");
  });

  test("counts headers that the reader dropped, too", () => {
    const { headers = [], truncated } = letterOf({ headers: many(1_024), headerCount: 33_000_000 }, 2 ** 20);
    assert.equal(headers.length, 1_007);
    assert.equal(truncated, "32999000 headers dropped");
  });

  test("has its detail shortened", () => {
    const letter = toDeadLetter(place, { ...refusal, detail: "d".repeat(100_000) }, dead);
    assert.equal(fromDeadLetterHeaders(letter.headers ?? [])?.detail, "d".repeat(1_000));
  });
});

const letter = {
  topic: "sensors",
  partition: 3,
  offset: 2 ** 40,
  time: 0,
  reason: "bad-time",
  detail: "größer",
  truncated: "",
};

test("a dead letter's headers are text and read back the same", () => {
  const headers = toDeadLetterHeaders(letter);
  const textOf = (name: string) => String(headers.find(({ key }) => key === name)?.value);
  assert.equal(textOf("forecastnet.dead-letter.reason"), "bad-time");
  assert.equal(textOf("forecastnet.dead-letter.offset"), "1099511627776");
  assert.deepEqual(fromDeadLetterHeaders([{ key: "other", value: null }, ...headers]), letter);
});

test("the last of several headers with the same name counts", () => {
  const forged = toDeadLetterHeaders({ ...letter, reason: "forged", truncated: "all of it" });
  assert.deepEqual(fromDeadLetterHeaders([...forged, ...toDeadLetterHeaders(letter)]), letter);
});

test("a dead letter of an older release counts as whole", () => {
  const older = toDeadLetterHeaders(letter).filter(({ key }) => !key.endsWith("truncated"));
  assert.deepEqual(fromDeadLetterHeaders(older), letter);
});

test("headers of another record are not read as a dead letter", () => {
  const key = "forecastnet.dead-letter.topic";
  assert.equal(fromDeadLetterHeaders([{ key, value: Buffer.from("sensors") }]), undefined);
  const emptied = toDeadLetterHeaders(letter).map((header) => ({ ...header, value: null }));
  assert.equal(fromDeadLetterHeaders(emptied), undefined);
});
