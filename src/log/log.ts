// The partitioned log: the one contract the pipeline knows of Kafka. Two implementations pass one suite:
// `memory-log.ts` (embedded, no broker) and `kafka/kafka-log.ts`.
//
// Ownership. A member of a group owns whole partition numbers: number p of every input topic and of every
// table. For each one it gains, the log calls the member's lane, a function that lives as long as the
// ownership. Before the lane runs, the log has (1) fenced every earlier owner, (2) read the committed
// positions again, (3) placed the reader there. The lane then restores its tables and reads its batches.
// When ownership ends, `lost` fires, `batches()` and `tail()` end and a late `commit()` throws
// PartitionLostError; the lane is expected to return soon after.

import type { Outgoing } from "../domain.ts";

export interface LogRecord {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, Buffer>>;
}

export interface StoredRecord extends LogRecord {
  readonly offset: number;
  /** When the record was written, as the log tells it, in milliseconds. */
  readonly timestampMs: number;
}

/** A run of records of one partition of one topic, in offset order. */
export interface StoredBatch {
  readonly topic: string;
  readonly partition: number;
  readonly records: readonly StoredRecord[];
  /** The position after this batch: what to commit once the batch is settled. */
  readonly nextOffset: number;
}

export interface TopicSpec {
  readonly topic: string;
  readonly partitions: number;
  /** A compacted topic keeps the newest value of each key. */
  readonly compacted: boolean;
  /** Further topic settings by Kafka's names, such as max.message.bytes. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface TopicFacts {
  readonly topic: string;
  readonly partitions: number;
  readonly compacted: boolean;
  readonly maxMessageBytes: number;
}

export interface Subscription {
  readonly group: string;
  readonly inputs: readonly string[];
  /** Where to begin a partition that has no committed position yet. */
  readonly start: "earliest" | "latest";
  /** The most records in one batch. */
  readonly maxBatchRecords: number;
}

export interface Commit {
  readonly records: readonly Outgoing[];
  /** The input topic whose position moves, and where to. */
  readonly topic: string;
  readonly nextOffset: number;
}

export interface OwnedPartition {
  readonly partition: number;
  /** Fires once, when the partition is revoked, fenced or the membership stops by force. */
  readonly lost: AbortSignal;
  /** Reads this partition of a compacted topic from its beginning to where it ended when asked. Throws
   * PartitionLostError when the partition is lost before that. */
  restore(topic: string): AsyncIterable<readonly StoredRecord[]>;
  /**
   * Committed records of this partition of a compacted topic from `fromOffset` on, as others write them. Goes on
   * where a restore ended when given the offset after its last record, or 0 if it had none. Sits out a broker
   * that does not answer. Ends, without an error, when the partition is lost or the membership drains.
   */
  tail(topic: string, fromOffset: number): AsyncIterable<readonly StoredRecord[]>;
  /** Input from the committed positions on; bounded ahead of its reader. Ends when the partition is lost or
   * the membership drains. Batches of one topic come in offset order. */
  batches(): AsyncIterable<StoredBatch>;
  /**
   * Writes the records and moves the position in one transaction. Resolves once it is committed, having
   * retried whatever passes; never commits twice. Throws PartitionLostError when another member has taken
   * over. Calls of one partition must not overlap.
   */
  commit(commit: Commit): Promise<void>;
  /**
   * Writes the records in one transaction and moves no position. Else as `commit`, but when an answer is lost there
   * is no position to tell whether it had gone through: then the records are written again.
   */
  write(records: readonly Outgoing[]): Promise<void>;
}

/** Works through one owned partition until `batches()` ends. */
export type Lane = (owned: OwnedPartition) => Promise<void>;

export interface MembershipStatus {
  readonly isJoined: boolean;
  readonly partitions: readonly number[];
  /** Records not yet read, summed over the owned input partitions; null before the first fetch. */
  readonly lag: number | null;
  /** Null while the log answers; otherwise why it does not. */
  readonly outage: string | null;
}

export interface Membership {
  status(): MembershipStatus;
  /** Rejects when a lane or the group fails in a way that only a restart can mend; resolves after `stop`. */
  readonly done: Promise<void>;
  /** Stops reading, lets the lanes settle what they hold, then leaves. After `graceMs` the rest is lost by force. */
  stop(graceMs: number): Promise<void>;
}

export interface Log {
  /** What is known of those of the topics that exist. */
  describeTopics(topics: readonly string[]): Promise<readonly TopicFacts[]>;
  /** Those that exist already are left as they are. Resolves once all of them can be described. */
  createTopics(specs: readonly TopicSpec[]): Promise<void>;
  join(subscription: Subscription, lane: Lane): Promise<Membership>;
  /** Appends without a transaction: for sensors and tools, never for the pipeline's results. */
  append(records: readonly Outgoing[]): Promise<void>;
  /** Follows the committed records of all partitions of a topic, in no group, until `signal` fires. */
  follow(topic: string, from: "earliest" | "latest", signal: AbortSignal): AsyncIterable<StoredBatch>;
  /**
   * Reads the committed records of all partitions of a topic, in no group, from the beginning to where each
   * ended when asked: all that was written by then, so a transaction still open there is waited for. Ends only
   * when complete; throws the signal's reason when it fires before that.
   */
  read(topic: string, signal: AbortSignal): AsyncIterable<StoredBatch>;
  close(): Promise<void>;
}
