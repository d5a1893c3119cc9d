// One partition of one topic: committed records in offset order. It bounds its own memory, by compaction or by
// a count; offsets never change, so a reader simply goes on at the next record that is still there.
import type { LogRecord, StoredRecord } from "../log.ts";

/** Records a compacted partition may gain before it compacts, beyond as many as were left the last time. */
const compactionSlack = 64;

export class MemoryPartition {
  readonly #retainRecords: number;
  /** Offset of the newest record of each key; only in a compacted partition. */
  readonly #newestByKey: Map<string, number> | undefined;
  #records: StoredRecord[] = [];
  #endOffset = 0;
  #compactedTo = 0;
  #compactAtLength = compactionSlack;

  constructor(options: { readonly compacted: boolean; readonly retainRecords: number }) {
    this.#retainRecords = options.compacted ? Number.POSITIVE_INFINITY : options.retainRecords;
    this.#newestByKey = options.compacted ? new Map() : undefined;
  }

  get endOffset(): number {
    return this.#endOffset;
  }

  append(record: LogRecord, timestampMs: number): void {
    const offset = this.#endOffset++;
    const { key, value, headers } = record; // a spread here topped the profile of a busy log
    this.#records.push({ key, value, headers, offset, timestampMs });
    if (this.#newestByKey !== undefined) {
      this.#newestByKey.set(keyOf(record), offset);
      if (this.#records.length > this.#compactAtLength) this.#compact(this.#newestByKey);
    } else if (this.#records.length > this.#retainRecords * 1.25) {
      // A quarter late, so that the array is moved once in many records and not at each.
      this.#records.splice(0, this.#records.length - this.#retainRecords);
    }
  }

  /** At most `max` records, the first being the earliest kept one at or after `offset`. */
  read(offset: number, max: number): readonly StoredRecord[] {
    const start = this.#indexOf(offset);
    return this.#records.slice(start, start + max);
  }

  /** How many kept records lie at or after `offset`. */
  countFrom(offset: number): number {
    return this.#records.length - this.#indexOf(offset);
  }

  #compact(newestByKey: Map<string, number>): void {
    this.#records = this.#records.filter((record) => {
      const key = keyOf(record);
      if (newestByKey.get(key) !== record.offset) return false;
      // A tombstone outlives one compaction, so that a reader close behind still learns of the deletion.
      const isSpent = record.value === null && record.offset < this.#compactedTo;
      if (isSpent) newestByKey.delete(key);
      return !isSpent;
    });
    this.#compactedTo = this.#endOffset;
    this.#compactAtLength = 2 * this.#records.length + compactionSlack;
  }

  /** Index of the first record at or after `offset`: compaction leaves gaps, hence a search. */
  #indexOf(offset: number): number {
    let low = 0;
    let high = this.#records.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#records[middle].offset < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** One character per byte: keys are equal exactly when their bytes are. */
function keyOf(record: LogRecord): string {
  return record.key?.toString("latin1") ?? "";
}
