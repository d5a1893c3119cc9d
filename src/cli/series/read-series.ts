// Reads the series of a fleet from the state topic and the models topic, once. Keeps counts, not values. A series that
// producers have moved to another partition is listed once for each partition that still holds it.

import type { Bounds, SeriesFacts, SeriesSettings, Tier } from "../../domain.ts";
import { avroCodec } from "../../log/codec/avro.ts";
import { readModelKey } from "../../log/codec/model-keys.ts";
import type { StateBlockRecord } from "../../log/codec/schemas.generated.ts";
import type { StoredBatch } from "../../log/log.ts";
import { cohortKey } from "../../models/cohort.ts";
import { parseInterval } from "../../models/interval.ts";
import { naiveSeasonOf } from "../../models/season.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import { type Findings, settingsOnGrid } from "../../window/findings.ts";
import { BLOCK_SLOTS } from "../../window/grid.ts";
import { isBlockKey, pointsIn } from "../../window/state-blocks.ts";
import { type LiveFacts, readLiveFacts } from "../models/read-models.ts";
import type { FleetDeps } from "../on-cluster.ts";

const blockCodec = avroCodec("StateBlock");

export interface SeriesEntry extends Pick<SeriesFacts, "interval" | "channels" | "points" | "lastTimeMs"> {
  readonly seriesId: string;
  readonly partition: number;
  /** When the state was last stored. */
  readonly storedMs: number;
  /** Seasons that its past confirms, in steps. */
  readonly seasons: readonly number[];
  /** The shortest season, configured or found; null until its interval is known. */
  readonly season: number | null;
  /** The season that seasonal-naive repeats. */
  readonly naiveSeason: number | null;
  readonly bounds: Bounds | null;
  readonly tier: Tier;
  readonly live: LiveFacts | null;
  /** Why a record of it cannot be read. */
  readonly problem: string | null;
}

interface ReadSeriesDeps extends Pick<FleetDeps, "log" | "topics" | "signal"> {
  readonly settingsOf: (seriesId: string) => SeriesSettings;
}

interface FleetSeries {
  /** Sorted by id, at most as many as asked for. */
  readonly entries: readonly SeriesEntry[];
  /** How many series match, including those left out. */
  readonly total: number;
}

/** Returns the first `limit` series whose id matches, by id. Records of other series are not decoded. */
export async function readSeries(
  { log, topics, settingsOf, signal }: ReadSeriesDeps,
  isMatch: (seriesId: string) => boolean,
  limit = Number.POSITIVE_INFINITY,
): Promise<FleetSeries> {
  const read = new StateReader(isMatch);
  for await (const batch of log.read(topics.state, signal)) read.take(batch);
  const models = new ModelKeys();
  for await (const batch of log.read(topics.models, signal)) models.take(batch);
  const stored = read.all().sort(byId);
  const entries = stored
    .slice(0, limit)
    .map((series) => toEntry(series, settingsOf(series.seriesId), models));
  return { entries, total: stored.length };
}

function byId(one: StoredSeries, other: StoredSeries): number {
  if (one.seriesId === other.seriesId) return one.partition - other.partition;
  return one.seriesId < other.seriesId ? -1 : 1;
}

/** The facts that the block with the highest revision states about its series. */
type Head = Pick<
  StateBlockRecord,
  "revision" | "interval" | "offsetMs" | "channels" | "newestSlot" | "pendingPoints" | keyof Findings
>;

interface BlockFacts {
  /** The grid that the block belongs to. */
  readonly grid: string;
  readonly firstSlot: number;
  readonly points: number;
}

interface StoredSeries {
  readonly seriesId: string;
  readonly partition: number;
  head: Head | null;
  readonly blockByKey: Map<string, BlockFacts>;
  storedMs: number;
  live: LiveFacts | null;
  problem: string | null;
}

class StateReader {
  readonly #isMatch: (seriesId: string) => boolean;
  readonly #byPartition = new Map<number, Map<string, StoredSeries>>();

  constructor(isMatch: (seriesId: string) => boolean) {
    this.#isMatch = isMatch;
  }

  all(): StoredSeries[] {
    return [...this.#byPartition.values()].flatMap((byId) => [...byId.values()]);
  }

  take({ partition, records }: StoredBatch): void {
    const byId = this.#byPartition.get(partition) ?? new Map<string, StoredSeries>();
    this.#byPartition.set(partition, byId);
    for (const { key, value, timestampMs } of records) {
      const name = key?.toString() ?? "";
      const cut = name.lastIndexOf("#");
      const seriesId = name.slice(0, cut);
      const isBlock = isBlockKey(name);
      if (cut < 0 || (!isBlock && name.slice(cut) !== "#live") || !this.#isMatch(seriesId)) continue;
      if (value === null) {
        byId.delete(seriesId); // Blocks and live state are deleted only when the series is forgotten.
        continue;
      }
      const series = byId.get(seriesId) ?? noneYet(seriesId, partition);
      byId.set(seriesId, series);
      reportProblem(series, () => {
        if (isBlock) takeBlock(series, name, blockCodec.decode(value), timestampMs);
        else series.live = readLiveFacts(value);
      });
    }
  }
}

function noneYet(seriesId: string, partition: number): StoredSeries {
  const nothing = { head: null, storedMs: 0, live: null, problem: null };
  return { seriesId, partition, blockByKey: new Map(), ...nothing };
}

function reportProblem(series: StoredSeries, read: () => void): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof ForecastnetError)) throw error;
    series.problem = error.message;
  }
}

function takeBlock(series: StoredSeries, key: string, record: StateBlockRecord, storedMs: number): void {
  const { firstSlot, columns: _, values: __, jitterMs: ___, ...head } = record;
  series.storedMs = storedMs;
  series.blockByKey.set(key, { grid: gridOf(record), firstSlot, points: pointsIn(record) });
  if (series.head === null || head.revision >= series.head.revision) series.head = head;
}

function gridOf({ interval, offsetMs, channels }: Omit<Head, "revision">): string {
  return `${interval} ${offsetMs} ${channels}`;
}

/** The keys of the models in each partition, of series and of cohorts. */
class ModelKeys {
  readonly #keysByPartition = new Map<number, Set<string>>();

  take({ partition, records }: StoredBatch): void {
    const keys = this.#keysByPartition.get(partition) ?? new Set<string>();
    this.#keysByPartition.set(partition, keys);
    for (const { key, value } of records) {
      const { modelKey, part } = readModelKey(key?.toString() ?? "");
      if (part !== "champion") continue;
      if (value === null) keys.delete(modelKey);
      else keys.add(modelKey);
    }
  }

  tierOf(seriesId: string, partition: number, { cohort }: SeriesSettings): Tier {
    const keys = this.#keysByPartition.get(partition);
    if (keys?.has(seriesId)) return "model";
    return cohort !== "" && keys?.has(cohortKey(cohort)) ? "cohort" : "cold";
  }
}

function toEntry(stored: StoredSeries, settings: SeriesSettings, models: ModelKeys): SeriesEntry {
  const { seriesId, partition, head, storedMs, live, problem } = stored;
  const tier = models.tierOf(seriesId, partition, settings);
  const about = { seriesId, partition, storedMs, tier, live, problem };
  if (head === null || head.interval === "") {
    const pending = head?.pendingPoints ?? [];
    const figures = { points: pending.length, lastTimeMs: pending.at(-1)?.time ?? null };
    const unknown = { interval: null, seasons: [], season: null, naiveSeason: null, bounds: null };
    return { ...about, ...unknown, channels: head?.channels ?? 0, ...figures };
  }
  const { interval, offsetMs, channels, newestSlot, seasons } = head;
  const grid = parseInterval(interval);
  const known = settingsOnGrid(settings, grid, head);
  // Blocks before the ring or of an earlier grid are outdated; they have only not been overwritten yet.
  const oldestSlot =
    (Math.floor(newestSlot / BLOCK_SLOTS) - Math.ceil((known.history - 1) / BLOCK_SLOTS)) * BLOCK_SLOTS;
  let points = 0;
  for (const block of stored.blockByKey.values()) {
    if (block.grid === gridOf(head) && block.firstSlot >= oldestSlot) points += block.points;
  }
  const found = {
    seasons,
    season: known.season,
    naiveSeason: naiveSeasonOf(known),
    bounds: known.bounds ?? null,
  };
  return { ...about, ...found, interval, channels, points, lastTimeMs: grid.timeOf(newestSlot, offsetMs) };
}
