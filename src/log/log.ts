// The partitioned log: all that the pipeline knows of Kafka. Two implementations pass one test suite: `memory-log.ts`
// (embedded, no broker) and `kafka/kafka-log.ts`.
//
// Ownership. A member of a group owns whole partition numbers: number p of every input topic and of every table. For
// each number that it gains, the log calls the member's handler, a function that runs as long as the ownership.
// Before it calls the handler, the log has (1) fenced every earlier owner, (2) read the committed positions again,
// and (3) set the reader to them. The handler then restores its tables and reads its batches. When the ownership
// ends, `lost` fires, `batches()` and `tail()` end, and a late `commit()` throws PartitionLostError. The handler must
// return soon after.

import type { Header, Outgoing } from "../domain.ts";

export interface LogRecord {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: readonly Header[];
}

export interface StoredRecord extends LogRecord {
  readonly offset: number;
  /** When the record was written according to the log. */
  readonly timestampMs: number;
  /** Why the batch at this offset cannot be read. If set, `value` is the raw batch. */
  readonly unreadable?: string;
  /** Number of headers of the record; set only if `headers` holds just the first of them. */
  readonly headerCount?: number;
}

/** A run of records of one partition of one topic, in offset order. */
export interface StoredBatch {
  readonly topic: string;
  readonly partition: number;
  readonly records: readonly StoredRecord[];
  /** The position after this batch, to be committed when the batch is settled. */
  readonly nextOffset: number;
}

export interface TopicSpec {
  readonly topic: string;
  readonly partitions: number;
  /** A compacted topic keeps the newest value of each key. */
  readonly compacted: boolean;
  /** Further topic settings under Kafka's names, such as max.message.bytes. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface TopicFacts {
  readonly topic: string;
  readonly partitions: number;
  /** Whether compaction is part of its cleanup policy. */
  readonly compacted: boolean;
  /** Kafka's name: compact, delete, "compact,delete", or empty for neither. */
  readonly cleanupPolicy: string;
  readonly maxMessageBytes: number;
  /** The smallest number of replicas of any partition. */
  readonly replicationFactor: number;
  readonly minInsyncReplicas: number;
  /** How it is cleaned: the settings of `table-upkeep.ts` as far as they are known, under Kafka's names. */
  readonly settings: Readonly<Record<string, string>>;
}

export interface Subscription {
  readonly group: string;
  readonly inputs: readonly string[];
  /** A compacted topic with as many partitions. It stores the positions beside the records of the handlers. */
  readonly positionsTopic: string;
  /** The topics that handlers write to, including `positionsTopic`. Input partition p writes to p modulo the width. */
  readonly outputs: readonly string[];
  /** The outputs of which a handler may write to every partition. Default: none. */
  readonly spreadOutputs?: readonly string[];
  /** Where to start in a partition without a committed position. */
  readonly start: "earliest" | "latest";
  /** The largest number of records in one batch. */
  readonly maxBatchRecords: number;
  /** The shortest time from one batch of a partition to the next, unless that is full. Default: none. */
  readonly batchIntervalMs?: number;
}

export interface Commit {
  readonly records: readonly Outgoing[];
  /** The input topic whose position moves to `nextOffset`. */
  readonly topic: string;
  readonly nextOffset: number;
}

export interface OwnedPartition {
  readonly partition: number;
  /** Fires once, when the partition is revoked or fenced, or when the membership stops by force. */
  readonly lost: AbortSignal;
  /** Input records that exist and are not yet read; null before the first fetch. */
  readonly lag: number | null;
  /**
   * Reads this partition of a compacted topic from its start to its end at the time of the call. Throws
   * PartitionLostError if the partition is lost before that.
   */
  restore(topic: string): AsyncIterable<readonly StoredRecord[]>;
  /**
   * Yields the committed records of this partition of a compacted topic from `fromOffset` on, as they are written. To
   * continue after a restore, pass the offset after its last record, or 0 if it had none. Waits for a broker that does
   * not answer. Ends without an error when the partition is lost or the membership drains.
   */
  tail(topic: string, fromOffset: number): AsyncIterable<readonly StoredRecord[]>;
  /**
   * Yields input from the committed positions on, with bounded read-ahead. Batches of one topic are in offset order.
   * Ends when the partition is lost or the membership drains.
   */
  batches(): AsyncIterable<StoredBatch>;
  /**
   * Writes the records and moves the position in one transaction. Retries if a retry can help, and resolves when the
   * transaction is committed; never commits twice. Throws PartitionLostError if another member has taken over. Calls
   * for one partition must not overlap.
   */
  commit(commit: Commit): Promise<void>;
  /** Like `commit`, but moves no position. */
  write(records: readonly Outgoing[]): Promise<void>;
}

/** Processes one owned partition until `batches()` ends. */
export type PartitionHandler = (owned: OwnedPartition) => Promise<void>;

export interface MembershipStatus {
  readonly isJoined: boolean;
  readonly partitions: readonly number[];
  /** Unread records, summed over the owned input partitions; null before the first fetch. */
  readonly lag: number | null;
  /** Why the log does not answer; null while it does. */
  readonly outage: string | null;
}

export interface Membership {
  status(): MembershipStatus;
  /** Rejects if a handler or the group fails and only a restart can help. Resolves after `stop`. */
  readonly done: Promise<void>;
  /** Stops reading, lets the handlers settle their batches, then leaves. After `graceMs`, drops the rest by force. */
  stop(graceMs: number): Promise<void>;
}

export interface Log {
  /** Returns the facts of those topics that exist. */
  describeTopics(topics: readonly string[]): Promise<readonly TopicFacts[]>;
  /** Leaves existing topics unchanged. Resolves when all of them can be described. */
  createTopics(specs: readonly TopicSpec[]): Promise<void>;
  /**
   * Widens a topic to this many partitions, unless it already has as many. Resolves when the topic is described as that
   * wide. Members of a group may learn of the new partitions only at the next rebalance.
   */
  addPartitions(topic: string, partitions: number): Promise<void>;
  join(subscription: Subscription, handler: PartitionHandler): Promise<Membership>;
  /** Appends without a transaction. For sensors and tools, never for the pipeline's results. */
  append(records: readonly Outgoing[]): Promise<void>;
  /** Yields the committed records of all partitions of a topic, outside any group, until `signal` fires. */
  follow(topic: string, from: "earliest" | "latest", signal: AbortSignal): AsyncIterable<StoredBatch>;
  /**
   * Reads the committed records of all partitions of a topic, outside any group, from the start to the end at the
   * time of the call. Waits for transactions that were open then. Throws the reason of the signal if it fires before
   * the end.
   */
  read(topic: string, signal: AbortSignal): AsyncIterable<StoredBatch>;
  close(): Promise<void>;
}
