// One owned partition as its lane sees it: input queued ahead of the lane, tables, commits. The queue is
// bounded by pausing the fetches of this partition; kafkajs itself never waits for a lane, so that it keeps
// sending heartbeats however long a batch takes.

import type { Batch as KafkaBatch } from "kafkajs";
import type { Outgoing } from "../../domain.ts";
import { PartitionLostError } from "../../runtime/errors.ts";
import type { Commit, OwnedPartition, StoredBatch, StoredRecord } from "../log.ts";
import type { TableReads } from "./kafka-reads.ts";
import type { Transactor } from "./transactor.ts";

/** Fetching pauses above this many batches' worth of records, and resumes below half of it. */
const QUEUED_BATCHES = 8;

interface Fetched {
  readonly topic: string;
  readonly records: readonly StoredRecord[];
  readonly nextOffset: number;
}

export interface OwnedKafkaPartitionOptions {
  readonly partition: number;
  readonly maxBatchRecords: number;
  readonly transactor: Transactor;
  readonly lost: AbortSignal;
  readonly reads: TableReads;
  /** Called when the queue has room again. */
  resume(): void;
}

export class OwnedKafkaPartition implements OwnedPartition {
  readonly partition: number;
  readonly lost: AbortSignal;
  readonly #options: OwnedKafkaPartitionOptions;
  readonly #queue: Fetched[] = [];
  readonly #positionByTopic = new Map<string, number>();
  readonly #lagByTopic = new Map<string, number>();
  /** Fires when reading ends: the partition is lost, or the member drains. */
  readonly #over = new AbortController();
  #queuedRecords = 0;
  #hasBegun = false;
  #wake: (() => void) | undefined;

  constructor(options: OwnedKafkaPartitionOptions) {
    this.#options = options;
    this.partition = options.partition;
    this.lost = options.lost;
    this.lost.addEventListener("abort", () => this.drain());
  }

  /** Whether the lane has come as far as reading its input. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  get isFull(): boolean {
    return this.#queuedRecords >= QUEUED_BATCHES * this.#options.maxBatchRecords;
  }

  /** Records fetched or known to the broker that no batch has taken yet. */
  get lag(): number {
    let lag = this.#queuedRecords;
    for (const topicLag of this.#lagByTopic.values()) lag += topicLag;
    return lag;
  }

  /** The next offset to fetch, by topic. */
  get positions(): ReadonlyMap<string, number> {
    return this.#positionByTopic;
  }

  place(topic: string, offset: number): void {
    this.#positionByTopic.set(topic, offset);
  }

  /** Takes over what kafkajs fetched. After a rejoin it may repeat what is queued already. */
  accept(batch: KafkaBatch): void {
    const position = this.#positionByTopic.get(batch.topic) ?? 0;
    const records: StoredRecord[] = [];
    for (const message of batch.messages) {
      const offset = Number(message.offset);
      if (offset < position) continue;
      records.push({
        offset,
        timestampMs: Number(message.timestamp),
        key: message.key,
        value: message.value,
        headers: (message.headers ?? {}) as Record<string, Buffer>,
      });
    }
    const nextOffset = Math.max(position, Number(batch.lastOffset()) + 1);
    this.#positionByTopic.set(batch.topic, nextOffset);
    this.#lagByTopic.set(batch.topic, Math.max(0, Number(batch.highWatermark) - nextOffset));
    if (records.length === 0) return;
    this.#queue.push({ topic: batch.topic, records, nextOffset });
    this.#queuedRecords += records.length;
    this.#wake?.();
  }

  async *restore(topic: string): AsyncGenerator<readonly StoredRecord[]> {
    yield* this.#options.reads.restore(topic, this.partition, this.lost);
    if (this.lost.aborted)
      throw new PartitionLostError(this.partition, "it was revoked while being restored");
  }

  tail(topic: string, fromOffset: number): AsyncIterable<readonly StoredRecord[]> {
    return this.#options.reads.tail(topic, this.partition, fromOffset, this.#over.signal);
  }

  async *batches(): AsyncGenerator<StoredBatch> {
    this.#hasBegun = true;
    while (!this.#over.signal.aborted) {
      const batch = this.#take();
      if (batch !== undefined) {
        yield batch;
        continue;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }

  async commit(commit: Commit): Promise<void> {
    if (this.lost.aborted) throw new PartitionLostError(this.partition, "it was revoked");
    await this.#options.transactor.commit(commit);
  }

  async write(records: readonly Outgoing[]): Promise<void> {
    if (this.lost.aborted) throw new PartitionLostError(this.partition, "it was revoked");
    await this.#options.transactor.write(records);
  }

  /** Ends `batches()` and `tail()`; what is queued but not taken stays uncommitted, for the next owner. */
  drain(): void {
    this.#over.abort();
    this.#wake?.();
  }

  /** The next run of one topic: several small fetches together, or a piece of a large one. */
  #take(): StoredBatch | undefined {
    const { maxBatchRecords } = this.#options;
    const first = this.#queue[0];
    if (first === undefined) return undefined;
    const { topic } = first;
    const wasFull = this.#queuedRecords > (QUEUED_BATCHES / 2) * maxBatchRecords;
    const records: StoredRecord[] = [];
    let nextOffset = 0;
    for (
      let head: Fetched | undefined = first;
      head !== undefined && head.topic === topic;
      head = this.#queue[0]
    ) {
      const room = maxBatchRecords - records.length;
      if (room === 0) break;
      if (head.records.length <= room) {
        for (const record of head.records) records.push(record);
        nextOffset = head.nextOffset;
        this.#queue.shift();
      } else {
        for (let i = 0; i < room; i++) records.push(head.records[i] as StoredRecord);
        nextOffset = (records.at(-1)?.offset ?? 0) + 1;
        this.#queue[0] = { ...head, records: head.records.slice(room) };
      }
    }
    this.#queuedRecords -= records.length;
    const isRoomy = this.#queuedRecords <= (QUEUED_BATCHES / 2) * maxBatchRecords;
    if (wasFull && isRoomy) this.#options.resume();
    return { topic, partition: this.partition, records, nextOffset };
  }
}
