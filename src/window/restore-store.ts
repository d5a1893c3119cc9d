// Fills a store from the state topic when a partition is taken over.

import type { StateBlockRecord } from "../log/codec/schemas.generated.ts";
import type { StoredRecord } from "../log/log.ts";
import { newestByKey } from "../log/newest-by-key.ts";
import type { RestoreReport, SeriesStore } from "./series-store.ts";

export interface Restored extends RestoreReport {
  readonly blocks: number;
}

export async function restoreStore(
  store: SeriesStore,
  changelog: AsyncIterable<readonly StoredRecord[]>,
  decode: (value: Buffer, key: string) => StateBlockRecord,
): Promise<Restored> {
  const valueByKey = await newestByKey(changelog);
  const blocks = valueByKey.size;
  return { ...store.restore(decodeAll(valueByKey, decode)), blocks };
}

/** One by one, letting go of the raw bytes: those of a large fleet need not be held twice. */
function* decodeAll(
  valueByKey: Map<string, Buffer>,
  decode: (value: Buffer, key: string) => StateBlockRecord,
): Generator<StateBlockRecord> {
  for (const [key, value] of valueByKey) {
    valueByKey.delete(key);
    yield decode(value, key);
  }
}
