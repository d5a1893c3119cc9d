// Reads partitions outside any consumer group, to their current end or continuously, with a bounded queue ahead of
// the reader. Reads that do not end, tails and follows, share the fetcher of the log. Reads to the current end share
// another, whose polls are short because there is always something to read: they would otherwise wait for the polls of
// those that have nothing new.

import { ForecastnetError } from "../../runtime/errors.ts";
import type { Logger } from "../../runtime/logging.ts";
import type { StoredBatch, StoredRecord } from "../log.ts";
import { estimatedBytes } from "../record-size.ts";
import type { Link } from "./cluster-link.ts";
import type { FetchedRecords, FetchTarget } from "./fetch-targets.ts";
import { Fetcher } from "./fetcher.ts";
import { readFailure } from "./kafka-errors.ts";
import { type OffsetRange, OffsetRanges } from "./offset-ranges.ts";
import type { FindTopic } from "./producer.ts";

/** How long a broker waits for the end of a transaction that a read to the current end needs. */
const READ_WAIT_MS = 250;
/** Records that the search for a key reads first at the end of a partition. Each further step reads 8 times as many. */
const SEARCH_RECORDS = 64;
/**
 * The largest decompressed record batch to read. Not configurable: a table that cannot be read stops the worker, and
 * our own records may be as large as their topic allows, 16 MiB by default.
 */
const MAX_BATCH_BYTES = 256 * 1024 * 1024;

/** What a handler reads besides its input. */
export interface TableReads {
  /** Ends early when the signal fires. */
  restore(topic: string, partition: number, signal: AbortSignal): AsyncIterable<readonly StoredRecord[]>;
  /** Ends only when the signal fires, and then at once. */
  tail(
    topic: string,
    partition: number,
    fromOffset: number,
    signal: AbortSignal,
  ): AsyncIterable<readonly StoredRecord[]>;
}

interface WantedPartition extends ReadRange {
  readonly partition: number;
}

export class KafkaReads implements TableReads {
  readonly #parts: ReadParts;
  readonly #toEnd: Fetcher;
  readonly #ranges: OffsetRanges;

  constructor(parts: ReadParts) {
    this.#parts = parts;
    this.#toEnd = new Fetcher({ ...parts, longestWaitMs: READ_WAIT_MS });
    this.#ranges = new OffsetRanges(parts);
  }

  async *follow(
    topic: string,
    from: "earliest" | "latest",
    signal: AbortSignal,
  ): AsyncGenerator<StoredBatch> {
    const partitions = await this.#partitionsOf(topic);
    const ranges = await this.#ranges.find(topic, partitions, signal).catch((error: unknown) => {
      if (signal.aborted) return null;
      throw error;
    });
    if (ranges === null) return;
    const wanted = [...ranges].map(([partition, { first, end }]) => ({
      partition,
      from: from === "earliest" ? first : end,
      to: null,
    }));
    yield* this.#read(this.#parts.fetcher, topic, wanted, signal);
  }

  async *read(topic: string, signal: AbortSignal): AsyncGenerator<StoredBatch> {
    try {
      yield* this.#readToEnd(topic, await this.#partitionsOf(topic), signal);
    } catch (error) {
      signal.throwIfAborted(); // the reason of the signal rather than its consequence
      throw error;
    }
    signal.throwIfAborted();
  }

  /** Reads to the last written record. Waits for the last owner's commit if the partition does not know it yet. */
  async *restore(
    topic: string,
    partition: number,
    signal: AbortSignal,
  ): AsyncGenerator<readonly StoredRecord[]> {
    for await (const { records } of this.#readToEnd(topic, [partition], signal)) yield records;
  }

  async *tail(
    topic: string,
    partition: number,
    fromOffset: number,
    signal: AbortSignal,
  ): AsyncGenerator<readonly StoredRecord[]> {
    const wanted = [{ partition, from: fromOffset, to: null }];
    for await (const { records } of this.#read(this.#parts.fetcher, topic, wanted, signal)) yield records;
  }

  /**
   * Finds the newest committed record of a key, searching back from the end of the partition. Throws STATE_CORRUPT if a
   * later batch cannot be read, because it may hold a newer record of the key.
   */
  async newestOf(
    topic: string,
    partition: number,
    key: Buffer,
    signal: AbortSignal,
  ): Promise<StoredRecord | null> {
    const { first, end } = await this.rangeOf(topic, partition, signal);
    for (let to = end, span = SEARCH_RECORDS; to > first; span *= 8) {
      const from = Math.max(first, to - span);
      let newest: StoredRecord | null = null;
      let damage: string | undefined;
      for await (const { records } of this.#read(this.#toEnd, topic, [{ partition, from, to }], signal)) {
        for (const record of records) {
          if (record.unreadable !== undefined) damage = record.unreadable;
          else if (record.key?.equals(key)) [newest, damage] = [record, undefined];
        }
      }
      signal.throwIfAborted();
      if (damage !== undefined)
        throw new ForecastnetError("STATE_CORRUPT", damage, { context: { topic, partition } });
      if (newest !== null) return newest;
      to = from;
    }
    return null;
  }

  /** The offsets that a partition holds. Waits for brokers that do not answer until the signal fires. */
  async rangeOf(topic: string, partition: number, signal: AbortSignal): Promise<OffsetRange> {
    const range = (await this.#ranges.find(topic, [partition], signal)).get(partition);
    if (range === undefined) throw new Error(`partition ${partition} of ${topic} was not looked up`);
    return range;
  }

  async close(): Promise<void> {
    await this.#toEnd.close();
  }

  async *#readToEnd(
    topic: string,
    partitions: readonly number[],
    signal: AbortSignal,
  ): AsyncGenerator<StoredBatch> {
    const ranges = await this.#ranges.find(topic, partitions, signal);
    const wanted = [...ranges].map(([partition, { first, end }]) => ({ partition, from: first, to: end }));
    yield* this.#read(this.#toEnd, topic, wanted, signal);
  }

  async *#read(
    fetcher: Fetcher,
    topic: string,
    wanted: readonly WantedPartition[],
    signal: AbortSignal,
  ): AsyncGenerator<StoredBatch> {
    const wakeup = new Wakeup();
    const reads = wanted.map((range) => new PartitionRead(topic, range.partition, range, wakeup.notify));
    yield* readBatches(fetcher, reads, wakeup, { signal, logger: this.#parts.logger });
  }

  async #partitionsOf(topic: string): Promise<readonly number[]> {
    const { partitions } = await this.#parts.findTopic(topic);
    return Array.from({ length: partitions }, (_, partition) => partition);
  }
}

/** A partition's fetches pause when this much waits for the reader, whichever limit is reached first. */
const QUEUED_RECORDS = 4_000;
const QUEUED_BYTES = 16 * 1024 * 1024;
/** How long nothing may arrive before a warning, and between two warnings. */
const WARN_AFTER_MS = 10_000;

interface ReadParts {
  openLink(): Link;
  /** For reads that do not end. */
  readonly fetcher: Fetcher;
  readonly findTopic: FindTopic;
  readonly logger: Logger;
}

/** The first offset to read and the offset to stop at; `to` is null for a read that does not end. */
interface ReadRange {
  readonly from: number;
  readonly to: number | null;
}

/** The fetch target of one partition, with a queue that its reader empties. */
export class PartitionRead implements FetchTarget {
  readonly topic: string;
  readonly partition: number;
  readonly maxBatchBytes = MAX_BATCH_BYTES;
  readonly #onChange: () => void;
  readonly #to: number | null;
  #position: number;
  #lastStableOffset = 0;
  #queue: StoredBatch[] = [];
  #queuedRecords = 0;
  #queuedBytes = 0;
  #failure: unknown = null;

  constructor(topic: string, partition: number, { from, to }: ReadRange, onChange: () => void) {
    this.topic = topic;
    this.partition = partition;
    this.#position = from;
    this.#to = to;
    this.#onChange = onChange;
  }

  get wanted(): number | null {
    const isFull = this.#queuedRecords >= QUEUED_RECORDS || this.#queuedBytes >= QUEUED_BYTES;
    return this.isComplete || this.#failure !== null || isFull ? null : this.#position;
  }

  /** Whether everything up to the end has been fetched. */
  get isComplete(): boolean {
    return this.#to !== null && this.#position >= this.#to;
  }

  get isBounded(): boolean {
    return this.#to !== null;
  }

  /** If the read waits, it waits for the transaction that starts at `offset` to end. */
  get waitingFor(): Readonly<Record<string, unknown>> {
    const { topic, partition } = this;
    return { topic, partition, offset: this.#lastStableOffset, goal: this.#to };
  }

  take({ records, nextOffset, lastStableOffset }: FetchedRecords): void {
    const to = this.#to ?? Number.POSITIVE_INFINITY;
    // The end offset of a damaged batch may be damaged, too. The reader decides about the batch, whatever its offset.
    const isWanted = ({ offset, unreadable }: StoredRecord) => offset < to || unreadable !== undefined;
    const wanted = nextOffset > to ? records.filter(isWanted) : records;
    this.#lastStableOffset = lastStableOffset;
    this.#position = Math.min(nextOffset, to);
    if (wanted.length > 0) {
      const { topic, partition } = this;
      this.#queue.push({ topic, partition, records: wanted, nextOffset: this.#position });
      this.#queuedRecords += wanted.length;
      for (const record of wanted) this.#queuedBytes += estimatedBytes(record);
    }
    if (wanted.length > 0 || this.isComplete) this.#onChange();
  }

  outOfRange({ first, end }: OffsetRange): void {
    // Beyond the end, the topic was recreated and none of it has been read.
    this.#position = this.#position > end ? first : Math.max(this.#position, first);
    if (this.isComplete) this.#onChange();
  }

  fail(error: unknown): void {
    this.#failure = readFailure(this.topic, error);
    this.#onChange();
  }

  /** All queued batches. Throws if reading has failed and the queue is empty. */
  drain(): readonly StoredBatch[] {
    const batches = this.#queue;
    this.#queue = [];
    this.#queuedRecords = 0;
    this.#queuedBytes = 0;
    if (batches.length === 0 && this.#failure !== null) throw this.#failure;
    return batches;
  }
}

/** Lets a reader wait for a change, a signal or a timeout. */
class Wakeup {
  #wake: () => void = () => {};
  #isDue = false;

  readonly notify = (): void => {
    this.#isDue = true;
    this.#wake();
  };

  /** False on a timeout. Null for none. */
  async wait(ms: number | null, signal: AbortSignal): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    if (!this.#isDue && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        if (ms !== null) timer = setTimeout(resolve, ms);
        signal.addEventListener("abort", this.notify, { once: true });
      });
    }
    clearTimeout(timer);
    signal.removeEventListener("abort", this.notify);
    const wasDue = this.#isDue;
    this.#isDue = false;
    return wasDue;
  }
}

/** Yields the fetched batches until all partitions are complete or the signal fires. */
async function* readBatches(
  fetcher: Fetcher,
  reads: readonly PartitionRead[],
  wakeup: Wakeup,
  { signal, logger }: { readonly signal: AbortSignal; readonly logger: Logger },
): AsyncGenerator<StoredBatch> {
  // Reads without an end wait for new records and for no transaction, so there is nothing to warn of.
  const warnAfterMs = reads.some(({ isBounded }) => isBounded) ? WARN_AFTER_MS : null;
  for (const read of reads) fetcher.add(read);
  try {
    while (!signal.aborted) {
      let yielded = 0;
      for (const read of reads) {
        for (const batch of read.drain()) {
          if (signal.aborted) return;
          yield batch;
          yielded++;
        }
      }
      if (yielded > 0) fetcher.wake();
      else if (reads.every(({ isComplete }) => isComplete)) return;
      else if (!(await wakeup.wait(warnAfterMs, signal))) warnOfWaiting(reads, logger);
    }
  } finally {
    for (const read of reads) fetcher.remove(read);
  }
}

function warnOfWaiting(reads: readonly PartitionRead[], logger: Logger): void {
  for (const read of reads) {
    if (!read.isComplete && read.wanted !== null && read.isBounded)
      logger.warn(read.waitingFor, "waiting for a transaction to end");
  }
}
