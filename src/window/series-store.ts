// The series of one partition, and which of their blocks changed since they were last stored. Pure state:
// reading and writing the state topic is done by those who call `restore` and `takeChanges`.

import type { SeriesSettings } from "../domain.ts";
import type { StateBlockRecord } from "../log/codec/schemas.generated.ts";
import { Series } from "./series.ts";
import { fromBlockRecords, toBlockRecord, toBlockRecords } from "./state-blocks.ts";

export interface RestoreReport {
  readonly series: number;
  /** Series whose stored interval is not the configured one any more: their history was left behind. */
  readonly startedAnew: readonly {
    readonly seriesId: string;
    readonly storedInterval: string;
    readonly configuredInterval: string;
  }[];
}

export class SeriesStore {
  readonly #settingsOf: (seriesId: string) => SeriesSettings;
  readonly #seriesById = new Map<string, Series>();
  /** Only these can have changed since the last `takeChanges`. */
  readonly #touched = new Set<Series>();

  constructor(settingsOf: (seriesId: string) => SeriesSettings) {
    this.#settingsOf = settingsOf;
  }

  get size(): number {
    return this.#seriesById.size;
  }

  ids(): IterableIterator<string> {
    return this.#seriesById.keys();
  }

  /** The series as it is, to look at. */
  get(seriesId: string): Series | undefined {
    return this.#seriesById.get(seriesId);
  }

  /** The series to push to, made when first seen. */
  of(seriesId: string): Series {
    let series = this.#seriesById.get(seriesId);
    if (series === undefined) {
      series = new Series(seriesId, this.#settingsOf(seriesId));
      this.#seriesById.set(seriesId, series);
    }
    this.#touched.add(series);
    return series;
  }

  /** Every block changed since the last call, once; normally the newest block of each series that moved. */
  takeChanges(): StateBlockRecord[] {
    const changes: StateBlockRecord[] = [];
    for (const series of this.#touched) {
      const blocks = series.takeChangedBlocks();
      if (blocks.length === 0) continue;
      series.revision++;
      for (const block of blocks) changes.push(toBlockRecord(series, block));
    }
    this.#touched.clear();
    return changes;
  }

  /** Fills an empty store from all blocks of the partition: the newest record of each key, in any order. */
  restore(blocks: Iterable<StateBlockRecord>): RestoreReport {
    const startedAnew: RestoreReport["startedAnew"][number][] = [];
    for (const [seriesId, records] of groupBySeries(blocks)) {
      const settings = this.#settingsOf(seriesId);
      const series = fromBlockRecords(records, settings);
      this.#seriesById.set(seriesId, series);
      if (series.isChanged) this.#touched.add(series);
      const stored = records.reduce((head, record) =>
        record.revision > head.revision ? record : head,
      ).interval;
      if (stored !== "" && series.grid === null) {
        startedAnew.push({ seriesId, storedInterval: stored, configuredInterval: settings.interval });
      }
    }
    return { series: this.#seriesById.size, startedAnew };
  }

  /** All blocks of all series in one canonical order: equal snapshots, equal stores. */
  snapshot(): StateBlockRecord[] {
    const ids = [...this.#seriesById.keys()].sort();
    return ids.flatMap((id) => toBlockRecords(this.#seriesById.get(id) as Series));
  }
}

function groupBySeries(blocks: Iterable<StateBlockRecord>): Map<string, StateBlockRecord[]> {
  const bySeries = new Map<string, StateBlockRecord[]>();
  for (const block of blocks) {
    const group = bySeries.get(block.seriesId);
    if (group === undefined) bySeries.set(block.seriesId, [block]);
    else group.push(block);
  }
  return bySeries;
}
