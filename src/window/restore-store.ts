// Fills a store from the state topic when a partition is taken over.

import type { StateBlockRecord } from "../log/codec/schemas.generated.ts";
import type { RestoreReport, SeriesStore } from "./series-store.ts";
import { isBlockKey } from "./state-blocks.ts";

export interface Restored extends RestoreReport {
  readonly blocks: number;
}

/**
 * Takes the blocks out of what the topic holds, and leaves what others keep there. One by one, letting go of the raw
 * bytes: those of a large fleet need not be held twice.
 */
export function restoreStore(
  store: SeriesStore,
  valueByKey: Map<string, Buffer>,
  decode: (value: Buffer, key: string) => StateBlockRecord,
): Restored {
  let blocks = 0;
  function* decodeAll(): Generator<StateBlockRecord> {
    for (const [key, value] of valueByKey) {
      if (!isBlockKey(key)) continue;
      valueByKey.delete(key);
      blocks++;
      yield decode(value, key);
    }
  }
  const report = store.restore(decodeAll());
  return { ...report, blocks };
}
