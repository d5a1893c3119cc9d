// An owned partition as its handler sees it: input batches, tables and commits. `kafka-ownership.ts` opens and closes it.
//
// Fetched input waits in a queue that is bounded in records and bytes. A partition whose queue is full is not fetched.
// Batches are formed when the pacer of the worker says so, and whenever a full one waits.

import type { Outgoing } from "../../domain.ts";
import { PartitionLostError } from "../../runtime/errors.ts";
import type { Commit, OwnedPartition, StoredBatch, StoredRecord } from "../log.ts";
import type { BatchPacer } from "./batch-pacer.ts";
import type { FetchedRecords, FetchTarget } from "./fetch-targets.ts";
import { readFailure } from "./kafka-errors.ts";
import type { TableReads } from "./kafka-reads.ts";
import type { OffsetRange } from "./offset-ranges.ts";
import { type InputGap, positionsKey, resumePosition } from "./positions.ts";
import type { Transactor } from "./transactor.ts";

/** Fetching pauses above this many batches of records, and resumes below half of it. */
const QUEUED_BATCHES = 8;
const QUEUED_BYTES = 32 * 1024 * 1024;
/** The largest batch; a single record may exceed it. */
const BATCH_BYTES = 8 * 1024 * 1024;
/** Memory of a record, and of each header, besides its content. */
const OBJECT_BYTES = 100;

interface QueuedRecords {
  readonly topic: string;
  readonly records: readonly StoredRecord[];
  readonly nextOffset: number;
}

export interface OwnedKafkaPartitionOptions {
  readonly partition: number;
  readonly maxBatchRecords: number;
  readonly pacer: BatchPacer;
  readonly maxBatchBytes: number;
  /** The table that holds the positions record, which is hidden from the handler. */
  readonly positionsTopic: string;
  readonly transactor: Transactor;
  readonly lost: AbortSignal;
  readonly reads: TableReads;
  /** Called when the queue has room again. */
  resume(): void;
  onGap(gap: InputGap): void;
  /** Reading the input failed, and a retry cannot help. */
  onFailure(error: unknown): void;
}

/** The topic is gone or may have been recreated. Opening the partition again finds out which. */
export class InputReplacedError extends Error {}

interface InputStart {
  readonly topic: string;
  readonly topicId: string | null;
  readonly position: number;
}

/** The fetch target of one input topic of the partition. */
class InputTopicTarget implements FetchTarget {
  readonly topic: string;
  readonly topicId: string | null;
  readonly partition: number;
  readonly maxBatchBytes: number;
  readonly #owned: OwnedKafkaPartition;
  readonly #options: OwnedKafkaPartitionOptions;
  #position: number;
  /** Null before the first fetch. */
  lag: number | null = null;

  constructor(
    owned: OwnedKafkaPartition,
    options: OwnedKafkaPartitionOptions,
    { topic, position, topicId }: InputStart,
  ) {
    this.topic = topic;
    this.topicId = topicId;
    this.partition = options.partition;
    this.maxBatchBytes = options.maxBatchBytes;
    this.#owned = owned;
    this.#options = options;
    this.#position = position;
  }

  get wanted(): number | null {
    return this.#owned.isFull ? null : this.#position;
  }

  take({ records, nextOffset, highWatermark }: FetchedRecords): void {
    // A fetch with only aborted records becomes an empty batch, so that its offsets are committed and not counted as
    // lag.
    const isFurther = nextOffset > this.#position;
    this.#position = nextOffset;
    this.lag = Math.max(0, highWatermark - nextOffset);
    if (isFurther) this.#owned.queue({ topic: this.topic, records, nextOffset });
  }

  replaced(): void {
    this.#reopen(`topic ${this.topic} was deleted or recreated`);
  }

  outOfRange(range: OffsetRange): void {
    if (this.#position > range.end) {
      this.#reopen(`topic ${this.topic} ends at ${range.end}, before the position ${this.#position}`);
      return;
    }
    const opened = { position: this.#position, isSameTopic: true };
    this.#position = resumePosition(this, opened, range, this.#options.onGap);
  }

  fail(error: unknown): void {
    this.#options.onFailure(readFailure(this.topic, error));
  }

  #reopen(reason: string): void {
    this.#options.onFailure(new InputReplacedError(reason));
  }
}

export class OwnedKafkaPartition implements OwnedPartition {
  readonly partition: number;
  readonly lost: AbortSignal;
  readonly #options: OwnedKafkaPartitionOptions;
  readonly #queue: QueuedRecords[] = [];
  readonly #targets: InputTopicTarget[] = [];
  /** Fires when reading ends: the partition is lost or the member drains. */
  readonly #readingEnded = new AbortController();
  #queuedRecords = 0;
  #queuedBytes = 0;
  #isPaused = false;
  #hasStarted = false;
  #wake: (() => void) | undefined;

  constructor(options: OwnedKafkaPartitionOptions) {
    this.#options = options;
    this.partition = options.partition;
    this.lost = options.lost;
    this.lost.addEventListener("abort", () => this.drain());
  }

  /** Whether the handler has started to read its input. */
  get hasStarted(): boolean {
    return this.#hasStarted;
  }

  /** Whether fetching pauses: from when the queue is full until it is half empty. */
  get isFull(): boolean {
    return this.#isPaused || this.#readingEnded.signal.aborted;
  }

  /** Records, queued or still at the broker, that no batch contains yet; null until every input has been fetched. */
  get lag(): number | null {
    let lag = this.#queuedRecords;
    for (const target of this.#targets) {
      if (target.lag === null) return null;
      lag += target.lag;
    }
    return this.#targets.length === 0 ? null : lag;
  }

  get targets(): readonly FetchTarget[] {
    return this.#targets;
  }

  addInput(topic: string, position: number, topicId: string | null = null): void {
    this.#targets.push(new InputTopicTarget(this, this.#options, { topic, position, topicId }));
  }

  queue(fetched: QueuedRecords): void {
    this.#queue.push(fetched);
    this.#queuedRecords += fetched.records.length;
    for (const record of fetched.records) this.#queuedBytes += bytesOf(record);
    if (this.#isOver(1)) this.#isPaused = true;
    this.#wake?.();
  }

  async *restore(topic: string): AsyncGenerator<readonly StoredRecord[]> {
    const why = "it was revoked while being restored";
    const records = this.#options.reads.restore(topic, this.partition, this.lost);
    try {
      yield* this.#withoutPositions(topic, records);
    } catch (error) {
      if (this.lost.aborted) throw new PartitionLostError(this.partition, why, error);
      throw error;
    }
    if (this.lost.aborted) throw new PartitionLostError(this.partition, why);
  }

  tail(topic: string, fromOffset: number): AsyncIterable<readonly StoredRecord[]> {
    const records = this.#options.reads.tail(topic, this.partition, fromOffset, this.#readingEnded.signal);
    return this.#withoutPositions(topic, records);
  }

  async *#withoutPositions(
    topic: string,
    batches: AsyncIterable<readonly StoredRecord[]>,
  ): AsyncGenerator<readonly StoredRecord[]> {
    const isVisible = ({ key }: StoredRecord) => key?.equals(positionsKey) !== true;
    const hasPositions = topic === this.#options.positionsTopic;
    for await (const records of batches) yield hasPositions ? records.filter(isVisible) : records;
  }

  async *batches(): AsyncGenerator<StoredBatch> {
    this.#hasStarted = true;
    while (!this.#readingEnded.signal.aborted) {
      const batch = this.#mayTake() ? this.#take() : undefined;
      if (batch === undefined) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = undefined;
      } else {
        yield batch;
      }
    }
  }

  readonly #retry = (): void => this.#wake?.();

  #mayTake(): boolean {
    if (this.#queue.length === 0) return false;
    return this.#isBatchFull || this.#options.pacer.tryBegin(this.#retry);
  }

  get #isBatchFull(): boolean {
    return this.#queuedRecords >= this.#options.maxBatchRecords;
  }

  async commit(commit: Commit): Promise<void> {
    if (this.lost.aborted) throw new PartitionLostError(this.partition, "it was revoked");
    await this.#options.transactor.commit(commit);
  }

  async write(records: readonly Outgoing[]): Promise<void> {
    if (this.lost.aborted) throw new PartitionLostError(this.partition, "it was revoked");
    await this.#options.transactor.write(records);
  }

  /** Ends `batches()` and `tail()`. Queued input stays uncommitted for the next owner. */
  drain(): void {
    this.#options.pacer.forget(this.#retry);
    this.#readingEnded.abort();
    this.#wake?.();
  }

  #isOver(share: number): boolean {
    const { maxBatchRecords } = this.#options;
    return (
      this.#queuedRecords >= share * QUEUED_BATCHES * maxBatchRecords ||
      this.#queuedBytes >= share * QUEUED_BYTES
    );
  }

  /** The next records of one topic: several small fetches combined, or part of a large one. */
  #take(): StoredBatch | undefined {
    const first = this.#queue[0];
    if (first === undefined) return undefined;
    const { topic } = first;
    const taken: StoredRecord[] = [];
    let bytes = 0;
    let nextOffset = 0;
    for (let head: QueuedRecords | undefined = first; head?.topic === topic; head = this.#queue[0]) {
      const count = this.#countThatFits(head.records, taken.length, bytes);
      for (let i = 0; i < count; i++) {
        const record = head.records[i] as StoredRecord;
        bytes += bytesOf(record);
        taken.push(record);
      }
      if (count < head.records.length) {
        if (count > 0) nextOffset = (taken.at(-1)?.offset ?? 0) + 1;
        this.#queue[0] = { ...head, records: head.records.slice(count) };
        break;
      }
      nextOffset = head.nextOffset;
      this.#queue.shift();
    }
    this.#queuedRecords -= taken.length;
    this.#queuedBytes -= bytes;
    if (this.#isPaused && !this.#isOver(0.5)) {
      this.#isPaused = false;
      this.#options.resume();
    }
    return { topic, partition: this.partition, records: taken, nextOffset };
  }

  #countThatFits(records: readonly StoredRecord[], already: number, bytesBefore: number): number {
    const room = Math.min(records.length, this.#options.maxBatchRecords - already);
    let bytes = bytesBefore;
    for (let i = 0; i < room; i++) {
      bytes += bytesOf(records[i] as StoredRecord);
      if (bytes > BATCH_BYTES && already + i > 0) return i;
    }
    return room;
  }
}

function bytesOf({ key, value, headers }: StoredRecord): number {
  let bytes = OBJECT_BYTES + (key?.length ?? 0) + (value?.length ?? 0);
  for (const header of headers) bytes += OBJECT_BYTES + header.key.length + (header.value?.length ?? 0);
  return bytes;
}
