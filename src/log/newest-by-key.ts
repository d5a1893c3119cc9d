// Reads a compacted topic as a table: the newest value of each key. The topic may still hold older values; an empty
// value deletes its key.

import { ForecastnetError } from "../runtime/errors.ts";
import type { StoredRecord } from "./log.ts";

interface TopicTable {
  /** The caller may remove entries as it reads them, so that the bytes of a large fleet are not held twice. */
  readonly valueByKey: Map<string, Buffer>;
  /** Where a tail continues: the offset after the last record read, or 0 if there was none. */
  readonly nextOffset: number;
}

export async function readTable(changelog: AsyncIterable<readonly StoredRecord[]>): Promise<TopicTable> {
  const valueByKey = new Map<string, Buffer>();
  let nextOffset = 0;
  for await (const records of changelog) {
    for (const { key, value, offset, unreadable } of records) {
      if (unreadable !== undefined) throw new ForecastnetError("STATE_CORRUPT", unreadable);
      nextOffset = offset + 1;
      if (key === null) continue;
      const name = key.toString();
      if (value === null) valueByKey.delete(name);
      else valueByKey.set(name, value);
    }
  }
  return { valueByKey, nextOffset };
}

/** For a table that nobody else writes and that therefore needs no tail. */
export async function newestByKey(
  changelog: AsyncIterable<readonly StoredRecord[]>,
): Promise<Map<string, Buffer>> {
  return (await readTable(changelog)).valueByKey;
}
