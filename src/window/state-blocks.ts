// A series as records of the state topic, and back. A record holds one block of the grid and the head of the series
// (interval, newest slot and the like). Its key contains the place of the block in the ring, so a series never has more
// keys on the compacted topic than its ring has blocks.

import type { SeriesSettings } from "../domain.ts";
import type { PackedValuesRecord, StateBlockRecord } from "../log/codec/schemas.generated.ts";
import { parseInterval } from "../models/interval.ts";
import { ForecastnetError } from "../runtime/errors.ts";
import { BLOCK_SLOTS, modulo } from "./grid.ts";
import { POINTS_TO_FIND_INTERVAL } from "./interval-finder.ts";
import { packedCount, packValues, unpackValues } from "./packed-values.ts";
import { Series } from "./series.ts";

/** A record, and what its key says. */
export interface StateBlock extends StateBlockRecord {
  readonly seriesId: string;
  /** The place of the block in the ring. */
  readonly block: number;
}

/** Form, decimals, base and length of a column. */
const COLUMN_HEAD_BYTES = 16;

/** Upper bound of the bytes of numbers in one record: values on the grid with their times, or pending points. */
export function largestBlockBytes(channels: number): number {
  const onGrid = (channels + 1) * (BLOCK_SLOTS * 8 + COLUMN_HEAD_BYTES);
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

/** The record under a key of which `isBlockKey` holds. */
export function toStateBlock(key: string, record: StateBlockRecord): StateBlock {
  return { ...record, seriesId: seriesOfKey(key), block: Number(key.slice(key.lastIndexOf("#") + 1)) };
}

const noBytes = Buffer.alloc(0);
/** Of records without columns, which are of earlier versions. */
const noOldForm = { values: noBytes, jitterMs: null };

/** Copies a block with the current head; later pushes do not change the record. */
export function toBlockRecord(series: Series, block: number): StateBlock {
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
      columns: [],
      ...noOldForm,
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
    columns: grid.readBlock(block),
    ...noOldForm,
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
export function fromBlockRecords(blocks: readonly StateBlock[], settings: SeriesSettings): Series {
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

function resumeGrid(series: Series, head: StateBlock, byRevision: readonly StateBlock[]): void {
  const { interval, offsetMs, channels } = head;
  const placeByBlock = new Map<number, number>();
  series.resume({ interval: parseInterval(interval), offsetMs, channels }, head, (grid) => {
    for (const record of byRevision) {
      const isSameGrid =
        record.interval === interval && record.offsetMs === offsetMs && record.channels === channels;
      if (!isSameGrid || record.firstSlot > head.newestSlot) continue;
      const columns = columnsOf(record);
      checkBlock(record, columns);
      const block = record.firstSlot / BLOCK_SLOTS;
      if (grid.loadBlock(block, columns)) placeByBlock.set(block, record.block);
    }
    // After a change of `history` a block has another key: write it again before its old key is reused.
    for (const block of grid.filledBlocks()) {
      if (placeByBlock.get(block) !== modulo(block, grid.capacityBlocks)) series.markChanged(block);
    }
  });
  series.lastForecastSlot = head.lastForecastSlot;
}

/** Number of observed slots in a block. */
export function pointsIn(record: StateBlockRecord): number {
  const [column] = columnsOf(record);
  if (column === undefined) return 0;
  const values = new Float64Array(packedCount(column) ?? 0);
  unpackValues(column, values);
  return values.reduce((points, value) => points + (Number.isNaN(value) ? 0 : 1), 0);
}

/** Those of the record, or what its bytes in the form of earlier versions are as columns; none if these are damaged. */
function columnsOf({ columns, values, jitterMs, channels }: StateBlockRecord): readonly PackedValuesRecord[] {
  if (values.length === 0) return columns;
  const slots = values.length / (8 * channels);
  const jitterBytes = (jitterMs?.length ?? 0) / slots;
  if (!Number.isInteger(slots) || ![0, 4, 8].includes(jitterBytes)) return [];
  const numbers = new Float64Array(slots);
  const old = Array.from({ length: channels }, (_, c) => {
    for (let i = 0; i < slots; i++) numbers[i] = values.readDoubleLE(8 * (i * channels + c));
    return packValues(numbers, slots);
  });
  if (jitterMs === null) return old;
  for (let i = 0; i < slots; i++)
    numbers[i] = jitterBytes === 8 ? jitterMs.readDoubleLE(8 * i) : jitterMs.readInt32LE(4 * i);
  return [...old, packValues(numbers, slots)];
}

function checkBlock(record: StateBlock, columns: readonly PackedValuesRecord[]): void {
  const { channels, firstSlot } = record;
  const counts = new Set(columns.map(packedCount));
  const [slots] = counts;
  const isWhole =
    (columns.length === channels || columns.length === channels + 1) &&
    counts.size === 1 &&
    slots !== null &&
    slots > 0 &&
    slots <= BLOCK_SLOTS;
  if (isWhole && firstSlot % BLOCK_SLOTS === 0) return;
  throw new ForecastnetError(
    "STATE_CORRUPT",
    `state block ${blockKey(record)} has ${columns.length} columns of ${[...counts].join(" or ")} slots from slot ${firstSlot} on; ` +
      `expected 1 to ${BLOCK_SLOTS} slots of ${channels} channels from a multiple of ${BLOCK_SLOTS}`,
    { context: { seriesId: record.seriesId, block: record.block } },
  );
}
