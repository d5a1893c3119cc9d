// Fills a store from the state topic when a partition is taken over. A compacted topic may still hold older
// values of a key, so the newest of each is kept before any is read.

import type { StateBlockRecord } from "../log/codec/schemas.generated.ts";
import type { StoredRecord } from "../log/log.ts";
import type { RestoreReport, SeriesStore } from "./series-store.ts";

export interface Restored extends RestoreReport {
  readonly blocks: number;
}

export async function restoreStore(
  store: SeriesStore,
  changelog: AsyncIterable<readonly StoredRecord[]>,
  decode: (value: Buffer, key: string) => StateBlockRecord,
): Promise<Restored> {
  const newestByKey = new Map<string, Buffer>();
  for await (const records of changelog) {
    for (const { key, value } of records) {
      if (key === null) continue;
      const name = key.toString();
      if (value === null) newestByKey.delete(name);
      else newestByKey.set(name, value);
    }
  }
  const blocks = newestByKey.size;
  return { ...store.restore(decodeAll(newestByKey, decode)), blocks };
}

/** One by one, letting go of the raw bytes: those of a large fleet need not be held twice. */
function* decodeAll(
  newestByKey: Map<string, Buffer>,
  decode: (value: Buffer, key: string) => StateBlockRecord,
): Generator<StateBlockRecord> {
  for (const [key, value] of newestByKey) {
    newestByKey.delete(key);
    yield decode(value, key);
  }
}
