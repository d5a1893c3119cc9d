// All blocks of a series store, for comparisons.

import type { Series } from "../../src/window/series.ts";
import type { SeriesStore } from "../../src/window/series-store.ts";
import { type StateBlock, toBlockRecord } from "../../src/window/state-blocks.ts";

/** In a canonical order: equal stores have equal blocks. */
export function blocksOf(store: SeriesStore): StateBlock[] {
  return [...store.ids()].sort().flatMap((id) => blocksOfSeries(store.get(id) as Series));
}

/** Those that hold an observation, oldest first; for a series without a grid, its pending points. */
function blocksOfSeries(series: Series): StateBlock[] {
  const blocks = series.grid?.filledBlocks() ?? (series.pending.length > 0 ? [0] : []);
  return blocks.map((block) => toBlockRecord(series, block));
}
