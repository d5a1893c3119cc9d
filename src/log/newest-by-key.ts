// What a compacted topic means: the newest value of each key. The topic may still hold older ones, and an empty value
// deletes its key.

import type { StoredRecord } from "./log.ts";

export interface Table {
  /** The caller may take entries out as it reads them, so that the bytes of a large fleet are not held twice. */
  readonly valueByKey: Map<string, Buffer>;
  /** Where a tail goes on: the offset after the last record read, 0 when there was none. */
  readonly nextOffset: number;
}

export async function readTable(changelog: AsyncIterable<readonly StoredRecord[]>): Promise<Table> {
  const valueByKey = new Map<string, Buffer>();
  let nextOffset = 0;
  for await (const records of changelog) {
    for (const { key, value, offset } of records) {
      nextOffset = offset + 1;
      if (key === null) continue;
      const name = key.toString();
      if (value === null) valueByKey.delete(name);
      else valueByKey.set(name, value);
    }
  }
  return { valueByKey, nextOffset };
}

/** For a table that nobody else writes: there is nothing to go on with. */
export async function newestByKey(
  changelog: AsyncIterable<readonly StoredRecord[]>,
): Promise<Map<string, Buffer>> {
  return (await readTable(changelog)).valueByKey;
}
