import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { LogRecord, StoredRecord } from "../../../../src/log/log.ts";
import { MemoryPartition } from "../../../../src/log/memory/store.ts";

const all = Number.POSITIVE_INFINITY;

describe("a partition with a retention", () => {
  test("keeps the newest records and their offsets", () => {
    const partition = new MemoryPartition({ compacted: false, retainRecords: 100 });
    for (let i = 0; i < 1_000; i++) partition.append(recordOf("k", String(i)), 0);
    const kept = partition.read(0, all);
    assert.ok(kept.length >= 100 && kept.length <= 125, `${kept.length} records kept`);
    assert.deepEqual(
      kept.map(numberOf),
      Array.from(kept, (_, i) => 1_000 - kept.length + i),
    );
    assert.ok(kept.every((record) => record.offset === numberOf(record)));
  });

  test("lets a reader that fell behind continue at the earliest record", () => {
    const partition = new MemoryPartition({ compacted: false, retainRecords: 10 });
    for (let i = 0; i < 100; i++) partition.append(recordOf("k", String(i)), 0);
    const [earliest] = partition.read(0, 1);
    assert.deepEqual(partition.read(5, 1), [earliest]);
    assert.equal(partition.countFrom(5), 100 - earliest.offset);
  });
});

describe("a compacted partition", () => {
  const write = fc.record({
    key: fc.constantFrom("a", "b", "c", "d"),
    value: fc.option(fc.string({ maxLength: 3 }), { nil: null }),
  });

  test("restores to the same table however often it was compacted", () => {
    fc.assert(
      fc.property(fc.array(write, { maxLength: 500, size: "max" }), (writes) => {
        const partition = new MemoryPartition({ compacted: true, retainRecords: 1 });
        for (const { key, value } of writes) partition.append(recordOf(key, value), 0);
        const records = writes.map(({ key, value }) => recordOf(key, value));
        assert.deepEqual(tableOf(partition.read(0, all)), tableOf(records));
      }),
    );
  });

  test("holds no more than its live keys need, even with deleted keys", () => {
    const partition = new MemoryPartition({ compacted: true, retainRecords: 1 });
    for (let i = 0; i < 10_000; i++) {
      partition.append(recordOf(`key${i % 10}`, "value"), 0);
      partition.append(recordOf(`once${i}`, "value"), 0);
      partition.append(recordOf(`once${i}`, null), 0);
    }
    assert.ok(partition.countFrom(0) < 500, `${partition.countFrom(0)} records for ten live keys`);
  });

  test("shows a deletion to a reader that is one compaction behind", () => {
    const partition = new MemoryPartition({ compacted: true, retainRecords: 1 });
    partition.append(recordOf("gone", "value"), 0);
    const seen = [...partition.read(0, all)];
    partition.append(recordOf("gone", null), 0);
    for (let i = 0; partition.countFrom(0) >= i; i++) partition.append(recordOf("busy", "value"), 0);
    seen.push(...partition.read(1, all));
    assert.deepEqual([...tableOf(seen).keys()], ["busy"]);
  });
});

function recordOf(key: string, value: string | null): LogRecord {
  return { key: Buffer.from(key), value: value === null ? null : Buffer.from(value), headers: [] };
}

function numberOf({ value }: StoredRecord): number {
  return Number(value);
}

function tableOf(records: readonly LogRecord[]): Map<string, string> {
  const table = new Map<string, string>();
  for (const { key, value } of records) {
    if (value === null) table.delete(String(key));
    else table.set(String(key), value.toString());
  }
  return new Map([...table].sort());
}
