// The contents of the embedded log: topics, their partitions, and whether the log answers at all. Writes are all or
// nothing: every record is checked before the first one is stored, and storing cannot fail.

import type { Header, Outgoing } from "../../domain.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ForecastnetError } from "../../runtime/errors.ts";
import type { LogRecord, StoredBatch, StoredRecord, TopicFacts, TopicSpec } from "../log.ts";
import { upkeepSettings } from "../table-upkeep.ts";

/** The default of a broker. */
const defaultMaxMessageBytes = 1_048_588;
const noHeaders: readonly Header[] = Object.freeze([]);
/** There is one copy in memory, but checks of the replication should pass. */
const replicationFactor = 3;
const defaultMinInsyncReplicas = 2;

/** A failure to inject into one commit. */
export interface CommitFault {
  /** Whether the commit fails before or after it takes effect. */
  readonly when: "before" | "after";
  /** "retry": the log retries by itself. "fence": the owner loses the partition. */
  readonly effect: "retry" | "fence";
}

interface MemoryTopic {
  facts: TopicFacts;
  readonly partitions: MemoryPartition[];
}

export class MemoryStore {
  /** Notified whenever a waiting reader or writer may have something to do. */
  readonly changed = new Condition();
  /** Null while the log answers; otherwise why it does not. */
  outage: string | null = null;
  /** Injected into the next commits, one each, of any owner. */
  readonly commitFaults: CommitFault[] = [];
  readonly #topicByName = new Map<string, MemoryTopic>();
  readonly #clock: Clock;
  readonly #retainRecords: number;

  constructor(clock: Clock, retainRecords: number) {
    this.#clock = clock;
    this.#retainRecords = retainRecords;
  }

  /** Leaves an existing topic unchanged. */
  createTopic({ topic, partitions, compacted, settings }: TopicSpec): void {
    if (this.#topicByName.has(topic)) return;
    const cleanupPolicy = settings?.["cleanup.policy"] ?? (compacted ? "compact" : "delete");
    const maxMessageBytes = Number(settings?.["max.message.bytes"] ?? defaultMaxMessageBytes);
    const minInsyncReplicas = Number(settings?.["min.insync.replicas"] ?? defaultMinInsyncReplicas);
    this.#topicByName.set(topic, {
      facts: {
        topic,
        partitions: 0,
        compacted: cleanupPolicy.includes("compact"),
        cleanupPolicy,
        maxMessageBytes,
        replicationFactor,
        minInsyncReplicas,
        settings: Object.fromEntries(
          Object.entries(settings ?? {}).filter(([setting]) => upkeepSettings.includes(setting)),
        ),
      },
      partitions: [],
    });
    this.addPartitions(topic, partitions);
  }

  addPartitions(topic: string, count: number): void {
    const found = this.#topic(topic);
    const { compacted } = found.facts;
    const options = { compacted, retainRecords: this.#retainRecords };
    while (found.partitions.length < count) found.partitions.push(new MemoryPartition(options));
    found.facts = { ...found.facts, partitions: found.partitions.length };
  }

  has(topic: string): boolean {
    return this.#topicByName.has(topic);
  }

  facts(topic: string): TopicFacts {
    return this.#topic(topic).facts;
  }

  partition(topic: string, partition: number): MemoryPartition {
    const found = this.#topic(topic);
    const wanted = found.partitions[partition];
    if (wanted !== undefined) return wanted;
    throw new ForecastnetError(
      "TOPIC_UNFIT",
      `topic ${topic} has partitions 0 to ${found.facts.partitions - 1}, but partition ${partition} was asked for`,
      { context: { topic, partition, partitions: found.facts.partitions } },
    );
  }

  write(records: readonly Outgoing[]): void {
    for (const record of records) this.#check(record);
    const nowMs = this.#clock.nowMs();
    for (const { topic, partition, key, value, headers } of records) {
      this.partition(topic, partition).append({ key, value, headers: headers ?? noHeaders }, nowMs);
    }
    this.changed.notifyAll();
  }

  #topic(topic: string): MemoryTopic {
    const found = this.#topicByName.get(topic);
    if (found !== undefined) return found;
    throw new ForecastnetError("TOPIC_MISSING", `topic ${topic} does not exist`, { context: { topic } });
  }

  #check(record: Outgoing): void {
    const { topic, partition } = record;
    this.partition(topic, partition);
    const { compacted, maxMessageBytes } = this.facts(topic);
    const bytes = sizeOf(record);
    if (bytes > maxMessageBytes) {
      throw new ForecastnetError(
        "RECORD_TOO_LARGE",
        `a record for topic ${topic} has ${bytes} bytes, more than its max.message.bytes of ${maxMessageBytes}`,
        { context: { topic, partition, bytes, maxMessageBytes } },
      );
    }
    if (compacted && record.key === null) {
      throw new ForecastnetError(
        "LOG_FAILED",
        `a record without a key was written to partition ${partition} of ${topic}, which is compacted: give it a key`,
        { context: { topic, partition } },
      );
    }
  }
}

function sizeOf({ key, value, headers = noHeaders }: Outgoing): number {
  let bytes = (key?.length ?? 0) + (value?.length ?? 0);
  for (const header of headers) bytes += Buffer.byteLength(header.key) + (header.value?.length ?? 0);
  return bytes;
}

/** A partition compacts when it has twice as many records as after the last compaction, plus this many. */
const compactionSlack = 64;

/**
 * One partition of one topic: committed records in offset order. Bounds its memory by compaction or by a record count.
 * Offsets never change, so a reader continues at the next record that still exists.
 */
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
    const { key, value, headers } = record; // a spread is measurably slower here
    this.#records.push({ key, value, headers, offset, timestampMs });
    if (this.#newestByKey !== undefined) {
      this.#newestByKey.set(keyOf(record), offset);
      if (this.#records.length > this.#compactAtLength) this.#compact(this.#newestByKey);
    } else if (this.#records.length > this.#retainRecords * 1.25) {
      // Only when a quarter too long, so that the array is not moved for each record.
      this.#records.splice(0, this.#records.length - this.#retainRecords);
    }
  }

  /** At most `max` records, starting with the first one at or after `offset`. */
  read(offset: number, max: number): readonly StoredRecord[] {
    const start = this.#indexOf(offset);
    return this.#records.slice(start, start + max);
  }

  /** Number of records at or after `offset`. */
  countFrom(offset: number): number {
    return this.#records.length - this.#indexOf(offset);
  }

  #compact(newestByKey: Map<string, number>): void {
    this.#records = this.#records.filter((record) => {
      const key = keyOf(record);
      if (newestByKey.get(key) !== record.offset) return false;
      // A tombstone survives one compaction, so that a reader close behind still sees the deletion.
      const isSpent = record.value === null && record.offset < this.#compactedTo;
      if (isSpent) newestByKey.delete(key);
      return !isSpent;
    });
    this.#compactedTo = this.#endOffset;
    this.#compactAtLength = 2 * this.#records.length + compactionSlack;
  }

  /** Index of the first record at or after `offset`. A binary search, because compaction leaves gaps. */
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

/** One character per byte, so keys are equal exactly if their bytes are. */
function keyOf(record: LogRecord): string {
  return record.key?.toString("latin1") ?? "";
}

export interface Reader {
  readonly topic: string;
  readonly partition: number;
  readonly source: MemoryPartition;
  /** Offset of the next record to read. */
  position: number;
}

/** Readers of several partitions, served in turn, so that a busy partition does not starve the others. */
export class Readers {
  readonly #readers: readonly Reader[];
  #turn = 0;

  constructor(readers: readonly Reader[]) {
    this.#readers = readers;
  }

  get all(): readonly Reader[] {
    return this.#readers;
  }

  /** The next batch of the next reader that has one; undefined if all have read to the end. */
  next(maxRecords: number): StoredBatch | undefined {
    for (let tried = 0; tried < this.#readers.length; tried++) {
      const reader = this.#readers[this.#turn];
      this.#turn = (this.#turn + 1) % this.#readers.length;
      const records = reader.source.read(reader.position, maxRecords);
      if (records.length === 0) continue;
      reader.position = records[records.length - 1].offset + 1;
      return { topic: reader.topic, partition: reader.partition, records, nextOffset: reader.position };
    }
    return undefined;
  }

  get lag(): number {
    return this.#readers.reduce((sum, { source, position }) => sum + source.countFrom(position), 0);
  }
}

/**
 * Wakes all waiters at once. A waiter then checks again what it waits for. One condition serves a whole log: it has
 * only tens of readers, and a check is cheap.
 */
class Condition {
  #next: Promise<void> | undefined;
  #wake: (() => void) | undefined;

  wait(): Promise<void> {
    this.#next ??= new Promise((resolve) => {
      this.#wake = resolve;
    });
    return this.#next;
  }

  notifyAll(): void {
    const wake = this.#wake;
    this.#next = undefined;
    this.#wake = undefined;
    wake?.();
  }
}
