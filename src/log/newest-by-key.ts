// What a compacted topic means: the newest value of each key. The topic may still hold older ones, and an empty value
// deletes its key.

import type { StoredRecord } from "./log.ts";

/** The caller may take entries out as it reads them, so that the bytes of a large fleet are not held twice. */
export async function newestByKey(
  changelog: AsyncIterable<readonly StoredRecord[]>,
): Promise<Map<string, Buffer>> {
  const newest = new Map<string, Buffer>();
  for await (const records of changelog) {
    for (const { key, value } of records) {
      if (key === null) continue;
      const name = key.toString();
      if (value === null) newest.delete(name);
      else newest.set(name, value);
    }
  }
  return newest;
}
