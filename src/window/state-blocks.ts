// A series as stored state and back. A block record holds one block of the grid and the series' head; the
// block's number is its place in the ring, so a series never has more keys on the compacted topic than its
// ring has blocks.

import type { SeriesSettings } from "../domain.ts";
import type { StateBlockRecord } from "../log/codec/schemas.generated.ts";
import { parseInterval } from "../models/interval.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { BLOCK_SLOTS, modulo } from "./grid.ts";
import { Series } from "./series.ts";

/** The key of a block on the state topic. */
export function blockKey(record: { readonly seriesId: string; readonly block: number }): string {
  return `${record.seriesId}#${record.block}`;
}

/** Other records of the series lie on the same topic, under keys that end in a word. */
export function isBlockKey(key: string): boolean {
  return /#\d+$/.test(key);
}

/** Copies a block with the present head; later pushes do not reach into the record. */
export function toBlockRecord(series: Series, block: number): StateBlockRecord {
  const { seriesId, revision, grid, interval, offsetMs, lastForecastSlot, pending } = series;
  if (grid === null || interval === null) {
    return {
      ...{
        seriesId,
        block: 0,
        revision,
        interval: "",
        offsetMs: 0,
        channels: pending[0]?.values.length ?? 0,
      },
      ...{ firstSlot: 0, values: Buffer.alloc(0), jitterMs: null, newestSlot: 0, lastForecastSlot: null },
      pendingPoints: pending.map(({ timeMs, values }) => ({ time: timeMs, values })),
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
  };
}

/** Every block that holds something, oldest first; the pending points of a series without a grid. */
export function toBlockRecords(series: Series): StateBlockRecord[] {
  const blocks = series.grid?.filledBlocks() ?? (series.pending.length > 0 ? [0] : []);
  return blocks.map((block) => toBlockRecord(series, block));
}

/**
 * Makes a series from its stored blocks, in any order. The block of the highest revision tells what was in
 * force; blocks of an earlier grid, and those that have left the history, are passed over. When the
 * configuration asks for another interval than the stored one, the series starts anew: old slots say
 * nothing on a new grid.
 */
export function fromBlockRecords(blocks: readonly StateBlockRecord[], settings: SeriesSettings): Series {
  const byRevision = [...blocks].sort((a, b) => a.revision - b.revision);
  const head = byRevision[byRevision.length - 1];
  const series = new Series(head.seriesId, settings);
  // Kept even by a series that starts anew, so that what it writes outranks what was stored.
  series.revision = head.revision;
  if (head.interval === "") {
    for (const { time, values } of head.pendingPoints)
      series.push({ seriesId: head.seriesId, timeMs: time, values });
    if (series.grid === null) series.takeChangedBlocks(); // it waits as before: nothing to write
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
  series.resume({ interval: parseInterval(interval), offsetMs, channels }, (grid) => {
    for (const record of byRevision) {
      const isSameGrid =
        record.interval === interval && record.offsetMs === offsetMs && record.channels === channels;
      if (!isSameGrid || record.firstSlot > head.newestSlot) continue;
      checkBlock(record);
      const block = record.firstSlot / BLOCK_SLOTS;
      if (grid.loadBlock(block, record)) placeByBlock.set(block, record.block);
    }
    // After a change of history a block's key is another one: write it again before its old key is reused.
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
