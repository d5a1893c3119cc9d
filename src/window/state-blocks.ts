// A series as records of the state topic, and back. A record holds one block of the grid and the head of the series
// (interval, newest slot and the like). Its key contains the place of the block in the ring, so a series never has more
// keys on the compacted topic than its ring has blocks.

import type { SeriesSettings } from "../domain.ts";
import type { StateBlockRecord } from "../log/codec/schemas.generated.ts";
import { parseInterval } from "../models/interval.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { BLOCK_SLOTS, modulo } from "./grid.ts";
import { POINTS_TO_FIND_INTERVAL } from "./interval-finder.ts";
import { Series } from "./series.ts";

/** Upper bound of the bytes of numbers in one record: values on the grid with their times, or pending points. */
export function largestBlockBytes(channels: number): number {
  const onGrid = BLOCK_SLOTS * (channels * 8 + 8);
  const waiting = POINTS_TO_FIND_INTERVAL * (channels * 8 + 24);
  return Math.max(onGrid, waiting);
}

/** The key of a block on the state topic. */
export function blockKey(record: { readonly seriesId: string; readonly block: number }): string {
  return `${record.seriesId}#${record.block}`;
}

/** The score stage stores other records of the series on the same topic, under keys that do not end in a number. */
export function isBlockKey(key: string): boolean {
  return /#\d+$/.test(key);
}

/** The series id in the key of a block. */
export function seriesOfKey(key: string): string {
  return key.slice(0, key.lastIndexOf("#"));
}

/** Copies a block with the current head; later pushes do not change the record. */
export function toBlockRecord(series: Series, block: number): StateBlockRecord {
  const { seriesId, revision, grid, interval, offsetMs, lastForecastSlot, pending, findings } = series;
  if (grid === null || interval === null) {
    return {
      seriesId,
      block: 0,
      revision,
      interval: "",
      offsetMs: 0,
      channels: pending[0]?.values.length ?? 0,
      firstSlot: 0,
      values: Buffer.alloc(0),
      jitterMs: null,
      newestSlot: 0,
      lastForecastSlot: null,
      pendingPoints: pending.map(({ timeMs, values }) => ({ time: timeMs, values })),
      ...findings,
    };
  }
  return {
    seriesId,
    block: modulo(block, grid.capacityBlocks),
    revision,
    interval: interval.iso,
    offsetMs,
    channels: grid.channels,
    firstSlot: block * BLOCK_SLOTS,
    ...grid.readBlock(block),
    newestSlot: grid.newestSlot,
    lastForecastSlot,
    pendingPoints: [],
    ...findings,
  };
}

/**
 * Restores a series from its stored blocks, in any order. The block with the highest revision has the current head.
 * Blocks of an earlier grid, and blocks older than the history, are ignored. If the configured interval or offset is
 * another than the stored one, the series restarts without its history: old slots mean nothing on a new grid.
 */
export function fromBlockRecords(blocks: readonly StateBlockRecord[], settings: SeriesSettings): Series {
  const byRevision = [...blocks].sort((a, b) => a.revision - b.revision);
  const head = byRevision[byRevision.length - 1];
  const series = new Series(head.seriesId, settings);
  // A restarted series keeps its revision too, so that its new blocks outrank the stored ones.
  series.revision = head.revision;
  if (head.interval === "") {
    for (const { time, values } of head.pendingPoints)
      series.push({ seriesId: head.seriesId, timeMs: time, values });
    if (series.grid === null) series.takeChangedBlocks(); // The points still wait: nothing to write.
  } else if (isConfiguredGrid(head, settings)) {
    resumeGrid(series, head, byRevision);
  }
  return series;
}

function isConfiguredGrid(head: StateBlockRecord, { interval, offsetMs }: SeriesSettings): boolean {
  return interval === "auto" || (parseInterval(interval).iso === head.interval && offsetMs === head.offsetMs);
}

function resumeGrid(series: Series, head: StateBlockRecord, byRevision: readonly StateBlockRecord[]): void {
  const { interval, offsetMs, channels } = head;
  const placeByBlock = new Map<number, number>();
  series.resume({ interval: parseInterval(interval), offsetMs, channels }, head, (grid) => {
    for (const record of byRevision) {
      const isSameGrid =
        record.interval === interval && record.offsetMs === offsetMs && record.channels === channels;
      if (!isSameGrid || record.firstSlot > head.newestSlot) continue;
      checkBlock(record);
      const block = record.firstSlot / BLOCK_SLOTS;
      if (grid.loadBlock(block, record)) placeByBlock.set(block, record.block);
    }
    // After a change of `history` a block has another key: write it again before its old key is reused.
    for (const block of grid.filledBlocks()) {
      if (placeByBlock.get(block) !== modulo(block, grid.capacityBlocks)) series.markChanged(block);
    }
  });
  series.lastForecastSlot = head.lastForecastSlot;
}

function checkBlock(record: StateBlockRecord): void {
  const slots = record.values.byteLength / (8 * record.channels);
  if (Number.isInteger(slots) && slots > 0 && slots <= BLOCK_SLOTS && record.firstSlot % BLOCK_SLOTS === 0)
    return;
  throw new ForecastnetError(
    "STATE_CORRUPT",
    `state block ${blockKey(record)} has ${record.values.byteLength} bytes of values from slot ${record.firstSlot} on; ` +
      `expected 1 to ${BLOCK_SLOTS} slots of ${record.channels} channels from a multiple of ${BLOCK_SLOTS}`,
    { context: { seriesId: record.seriesId, block: record.block } },
  );
}
