import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredRecord } from "../../../src/log/log.ts";
import { newestByKey, readTable } from "../../../src/log/newest-by-key.ts";

function stored(offset: number, key: string | null, value: string | null): StoredRecord {
  const bytes = (text: string | null) => (text === null ? null : Buffer.from(text));
  return { offset, timestampMs: 0, headers: [], key: bytes(key), value: bytes(value) };
}

async function* changelog(...chunks: readonly (readonly StoredRecord[])[]) {
  yield* chunks;
}

test("a table holds the newest value of each key and no deleted key", async () => {
  const chunks = [
    [stored(0, "a", "old"), stored(3, "b", "b")],
    [stored(7, "a", "new"), stored(8, "b", null)],
  ];
  const { valueByKey } = await readTable(changelog(...chunks));
  assert.deepEqual(valueByKey, new Map([["a", Buffer.from("new")]]));
  assert.deepEqual(await newestByKey(changelog(...chunks)), valueByKey);
});

test("a tail continues after the last record of a table, whatever that was", async () => {
  const next = async (...records: StoredRecord[]) => (await readTable(changelog(records))).nextOffset;
  assert.equal(await next(), 0);
  assert.equal(await next(stored(4, "a", "v"), stored(9, "a", null)), 10);
  assert.equal(await next(stored(4, "a", "v"), stored(12, null, "no key")), 13);
});
