// The series of one partition, and which of their blocks changed since they were last stored. First the store, then
// what is asked about one series (when it is forgotten, its figures), then how the store is filled when a partition is
// taken over. Reads and writes no topic: callers do.

import type { SeriesFacts, SeriesSettings } from "../domain.ts";
import type { StateBlockRecord } from "../log/codec/schemas.generated.ts";
import type { StoredRecord } from "../log/log.ts";
import { type Clock, systemClock } from "../runtime/clock.ts";
import { isProbe } from "../runtime/config/series-rules.ts";
import { yieldToEventLoop } from "../runtime/waiting.ts";
import { Series } from "./series.ts";
import {
  blockKey,
  fromBlockRecords,
  isBlockKey,
  type StateBlock,
  seriesOfKey,
  toBlockRecord,
  toStateBlock,
} from "./state-blocks.ts";

/** A series that lost its history, because its configured interval or offset has changed. */
interface RestartedSeries {
  readonly seriesId: string;
  readonly storedInterval: string;
  readonly configuredInterval: string;
}

interface RestoreReport {
  readonly series: number;
  readonly restarted: readonly RestartedSeries[];
}

interface SeriesStoreOptions {
  /** Gives the time at which a series is stored. */
  readonly clock?: Clock;
  /** Most series to accept; restored ones stay even beyond it. */
  readonly maxSeries?: number;
}

export class SeriesStore {
  readonly maxSeries: number;
  readonly #settingsOf: (seriesId: string) => SeriesSettings;
  readonly #clock: Clock;
  readonly #seriesById = new Map<string, Series>();
  /** The series that may have changed since the last `takeChanges`. */
  readonly #touched = new Set<Series>();
  /** The series that are forgotten after a silence; `silent` checks no others. */
  readonly #forgettable = new Set<Series>();

  constructor(
    settingsOf: (seriesId: string) => SeriesSettings,
    { clock = systemClock, maxSeries = Number.POSITIVE_INFINITY }: SeriesStoreOptions = {},
  ) {
    this.#settingsOf = settingsOf;
    this.#clock = clock;
    this.maxSeries = maxSeries;
  }

  get size(): number {
    return this.#seriesById.size;
  }

  ids(): IterableIterator<string> {
    return this.#seriesById.keys();
  }

  /** The series, to read. */
  get(seriesId: string): Series | undefined {
    return this.#seriesById.get(seriesId);
  }

  /** What is known about the series: the configuration alone for one that is not here. */
  settingsOf(seriesId: string): SeriesSettings {
    return this.#seriesById.get(seriesId)?.settings ?? this.#settingsOf(seriesId);
  }

  /** Decides anew which seasons a series has. True when that changes its settings; they apply from the next batch on. */
  reconsiderSeasons(seriesId: string): boolean {
    return this.#seriesById.get(seriesId)?.reconsiderSeasons() ?? false;
  }

  /** True when the series is known or the store has room for another one. */
  hasRoomFor(seriesId: string): boolean {
    return this.#seriesById.size < this.maxSeries || this.#seriesById.has(seriesId);
  }

  /** The series to push to, created on first use. */
  of(seriesId: string): Series {
    let series = this.#seriesById.get(seriesId);
    if (series === undefined) {
      series = new Series(seriesId, this.#settingsOf(seriesId));
      series.seenMs = this.#clock.nowMs();
      this.#add(series);
    }
    this.#touched.add(series);
    return series;
  }

  /**
   * The blocks changed since the last call, normally the newest block of each series that moved. The caller stores
   * them, so their series count as stored now.
   */
  takeChanges(): StateBlock[] {
    const nowMs = this.#clock.nowMs();
    const changes: StateBlock[] = [];
    for (const series of this.#touched) {
      const blocks = series.takeChangedBlocks();
      if (blocks.length === 0) continue;
      series.revision++;
      series.seenMs = nowMs;
      for (const block of blocks) {
        const record = toBlockRecord(series, block);
        series.storedBlocks.add(record.block);
        changes.push(record);
      }
    }
    this.#touched.clear();
    return changes;
  }

  /** Fills an empty store from the newest record of each block of the partition, in any order. */
  restore(blocks: Iterable<StateBlock>): RestoreReport {
    const restarted: RestartedSeries[] = [];
    for (const records of groupBySeries(blocks).values()) {
      const restart = this.restoreSeries(records);
      if (restart !== null) restarted.push(restart);
    }
    return { series: this.#seriesById.size, restarted };
  }

  /** Adds a series from the newest record of each of its blocks, in any order. Not null if it lost its history. */
  restoreSeries(records: readonly StateBlock[]): RestartedSeries | null {
    const [{ seriesId }] = records;
    const settings = this.#settingsOf(seriesId);
    const series = fromBlockRecords(records, settings);
    for (const { block } of records) series.storedBlocks.add(block);
    this.#add(series);
    if (series.isChanged) this.#touched.add(series);
    const stored = records.reduce((head, record) =>
      record.revision > head.revision ? record : head,
    ).interval;
    if (stored === "" || series.grid !== null) return null;
    return { seriesId, storedInterval: stored, configuredInterval: settings.interval };
  }

  /** Sets when each series was last stored: now for a series without a time, so that it is not forgotten. */
  markSeen(seenMsById: ReadonlyMap<string, number>): void {
    const nowMs = this.#clock.nowMs();
    for (const series of this.#seriesById.values()) {
      const seenMs = seenMsById.get(series.seriesId) ?? 0;
      series.seenMs = seenMs > 0 ? Math.min(seenMs, nowMs) : nowMs;
    }
  }

  /** When the series is forgotten unless it sends before; null for never, and for an unknown series. */
  endsAtMs(seriesId: string): number | null {
    const series = this.#seriesById.get(seriesId);
    return series === undefined ? null : endsAtMs(series);
  }

  /** Null for an unknown series. */
  factsOf(seriesId: string): SeriesFacts | null {
    const series = this.#seriesById.get(seriesId);
    return series === undefined ? null : factsOf(series);
  }

  /** For each series that can be forgotten: its id when it is due, else null. */
  *silent(): Generator<string | null> {
    const nowMs = this.#clock.nowMs();
    for (const series of this.#forgettable) {
      const endMs = endsAtMs(series);
      yield endMs !== null && endMs <= nowMs ? series.seriesId : null;
    }
  }

  /** Drops the series. Returns its keys on the state topic. */
  forget(seriesId: string): readonly string[] {
    const series = this.#seriesById.get(seriesId);
    if (series === undefined) return [];
    this.#seriesById.delete(seriesId);
    this.#touched.delete(series);
    this.#forgettable.delete(series);
    return [...series.storedBlocks].map((block) => blockKey({ seriesId, block }));
  }

  #add(series: Series): void {
    this.#seriesById.set(series.seriesId, series);
    if (canEnd(series)) this.#forgettable.add(series);
  }
}

function groupBySeries(blocks: Iterable<StateBlock>): Map<string, StateBlock[]> {
  const bySeries = new Map<string, StateBlock[]>();
  for (const block of blocks) {
    const group = bySeries.get(block.seriesId);
    if (group === undefined) bySeries.set(block.seriesId, [block]);
    else group.push(block);
  }
  return bySeries;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const DURATION = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?)?$/;

/** Least silence in steps of the series: one that reports once a step is silent for nearly a step each time. */
const LEAST_STEPS = 2;

const msByDuration = new Map<string, number>();

/** Infinity for "never". */
function durationMs(forgetAfter: string): number {
  const known = msByDuration.get(forgetAfter);
  if (known !== undefined) return known;
  const [, weeks = 0, days = 0, hours = 0, minutes = 0] = DURATION.exec(forgetAfter) ?? [];
  const ms =
    (7 * Number(weeks) + Number(days)) * DAY_MS + Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS;
  const limit = ms > 0 ? ms : Number.POSITIVE_INFINITY;
  msByDuration.set(forgetAfter, limit);
  return limit;
}

/** True for a series that is forgotten after a silence. */
function canEnd({ settings }: Series): boolean {
  return durationMs(settings.forgetAfter) < Number.POSITIVE_INFINITY;
}

/**
 * When the series is forgotten unless it sends before; null for never. Silence is wall-clock time since its state was
 * last stored. The log stamps every stored block, so the next owner of the partition counts from the same moment.
 */
function endsAtMs(series: Series): number | null {
  if (!canEnd(series)) return null;
  const { settings, seriesId, seenMs, grid, interval, offsetMs } = series;
  const limitMs = durationMs(settings.forgetAfter);
  if (grid === null || interval === null || isProbe(seriesId)) return seenMs + limitMs;
  const newest = grid.newestSlot;
  const stepsMs = interval.timeOf(newest, offsetMs) - interval.timeOf(newest - LEAST_STEPS, offsetMs);
  return seenMs + Math.max(limitMs, stepsMs);
}

function factsOf(series: Series): SeriesFacts {
  const { grid, interval, offsetMs, pending, seenMs } = series;
  const times = { seenMs, endsAtMs: endsAtMs(series) };
  if (grid === null || interval === null) {
    const channels = pending[0]?.values.length ?? 0;
    const lastTimeMs = pending.at(-1)?.timeMs ?? null;
    return { interval: null, channels, points: pending.length, lastTimeMs, ...times };
  }
  let points = 0;
  for (let slot = grid.firstObservedSlot(); slot <= grid.newestSlot; slot++) if (grid.has(slot)) points++;
  const lastTimeMs = interval.timeOf(grid.newestSlot, offsetMs);
  return { interval: interval.iso, channels: grid.channels, points, lastTimeMs, ...times };
}

interface Restored extends RestoreReport {
  readonly blocks: number;
}

/** Keys looked at, and blocks decoded, between two turns of the event loop: heartbeats and other lanes must not wait. */
const KEYS_PER_TURN = 20_000;
const BLOCKS_PER_TURN = 500;

/** Takes the blocks out of `valueByKey`, series by series to free their bytes, and leaves the records of other stages. */
export async function restoreStore(
  store: SeriesStore,
  valueByKey: Map<string, Buffer>,
  decode: (value: Buffer, key: string) => StateBlockRecord,
): Promise<Restored> {
  const restarted: RestartedSeries[] = [];
  let [blocks, unyielded] = [0, 0];
  for (const keys of (await groupBlockKeys(valueByKey.keys())).values()) {
    const records = keys.map((key) => {
      const value = valueByKey.get(key) as Buffer;
      valueByKey.delete(key);
      return toStateBlock(key, decode(value, key));
    });
    const restart = store.restoreSeries(records);
    if (restart !== null) restarted.push(restart);
    blocks += records.length;
    unyielded += records.length;
    if (unyielded < BLOCKS_PER_TURN) continue;
    unyielded = 0;
    await yieldToEventLoop();
  }
  return { series: store.size, restarted, blocks };
}

async function groupBlockKeys(keys: Iterable<string>): Promise<Map<string, string[]>> {
  const keysById = new Map<string, string[]>();
  let looked = 0;
  for (const key of keys) {
    if (isBlockKey(key)) {
      const seriesId = seriesOfKey(key);
      const group = keysById.get(seriesId);
      if (group === undefined) keysById.set(seriesId, [key]);
      else group.push(key);
    }
    if (++looked % KEYS_PER_TURN === 0) await yieldToEventLoop();
  }
  return keysById;
}

/** Passes the records on. Notes the wall-clock time at which the newest block of each series was stored. */
export async function* noteStoredTimes(
  changelog: AsyncIterable<readonly StoredRecord[]>,
  storedMsById: Map<string, number>,
): AsyncGenerator<readonly StoredRecord[]> {
  for await (const records of changelog) {
    for (const { key, value, timestampMs } of records) {
      const name = key?.toString() ?? "";
      if (!isBlockKey(name)) continue;
      if (value === null) storedMsById.delete(seriesOfKey(name));
      else storedMsById.set(seriesOfKey(name), timestampMs);
    }
    yield records;
  }
}
